// The memory that a captured launch reaches.
#include "cli/replay/regions.hpp"

#include <cstring>

#include "tests/support/catch.hpp"

namespace aoti_dbg::cli::replay_regions_test {
namespace {

LaunchTensor tensor_at(std::uint64_t address, std::int64_t elements) {
    LaunchTensor tensor;
    tensor.label = "buf";
    tensor.address = address;
    tensor.facts.measured_dtype = DType::float32;
    tensor.facts.sizes = {elements};
    tensor.facts.strides = {1};
    return tensor;
}

LaunchParameter pointer_to(std::uint64_t address, std::uint64_t reachable) {
    LaunchParameter parameter;
    parameter.bytes.resize(sizeof address);
    std::memcpy(parameter.bytes.data(), &address, sizeof address);
    parameter.reachable = reachable;
    return parameter;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> found(const LaunchRecord& launch) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (const Region& region : regions_of(launch))
        pairs.emplace_back(region.begin, region.end);
    return pairs;
}

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST_CASE("Tensors that overlap share a region, and neighbors do not") {
    LaunchRecord launch;
    launch.tensors = {tensor_at(0x2000, 16), tensor_at(0x1000, 16), tensor_at(0x1020, 16),
                      tensor_at(0x1060, 4), tensor_at(0x3000, 0)};
    CHECK(found(launch) == Pairs{{0x1000, 0x1060}, {0x1060, 0x1070}, {0x2000, 0x2040}});
    const std::vector<Region> regions = regions_of(launch);
    CHECK(region_at(regions, 0x1060) == 1U);
    CHECK_FALSE(region_at(regions, 0x2040));
}

TEST_CASE("A pointer to other memory reaches at most to the next tensor") {
    LaunchRecord launch;
    launch.tensors = {tensor_at(0x1000, 16), tensor_at(0x4000, 16)};
    launch.parameters = {pointer_to(0x2000, 0x10000), pointer_to(0x1004, 0x10000), pointer_to(0x5000, 0x100),
                         pointer_to(0x3000, 0x10)};
    CHECK(found(launch) == Pairs{{0x1000, 0x1040}, {0x2000, 0x4000}, {0x4000, 0x4040}, {0x5000, 0x5100}});
}

}  // namespace
}  // namespace aoti_dbg::cli::replay_regions_test
