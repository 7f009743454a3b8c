// The record of a captured launch, written and read back, and damaged ones.
#include "serializer/launch_record.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg {
namespace {

LaunchRecord sample() {
    LaunchRecord launch;
    launch.run = 3;
    launch.call = 41;
    launch.model = 0;
    launch.kernel = "triton_poi_fused_\"relu\"_0";
    launch.function = "triton_poi_fused_relu_0";
    launch.grid = {7, 2, 1};
    launch.block = {128, 1, 1};
    launch.cluster = {2, 1, 1};
    launch.shared_bytes = 66000;
    launch.is_cooperative = true;
    launch.image = "00ff.image";
    launch.image_hash = 0xfedcba9876543210;
    launch.device = "NVIDIA H100";
    launch.compute_capability = 90;
    launch.driver = 13000;
    launch.parameters.push_back({0, {std::byte{0}, std::byte{0xff}, std::byte{0x10}}, "arg0_1", 0});
    launch.parameters.push_back({8, {std::byte{1}}, "", 4096});
    LaunchTensor tensor;
    tensor.label = "arg0_1";
    tensor.address = 0x7f0000001000;
    tensor.facts.dtype = "bfloat16";
    tensor.facts.measured_dtype = DType::bfloat16;
    tensor.facts.sizes = {4, 128};
    tensor.facts.strides = {1, 4};
    launch.tensors.push_back(tensor);
    return launch;
}

TEST_CASE("A launch is read back as it was written") {
    const LaunchRecord launch = sample();
    const std::string text = render_launch(launch);
    const Result<LaunchRecord> read = read_launch(text);
    REQUIRE(read.ok());
    const LaunchRecord& found = read.value();
    CHECK(render_launch(found) == text);
    CHECK(found.kernel == launch.kernel);
    CHECK(found.cluster == launch.cluster);
    CHECK(found.image_hash == launch.image_hash);
    CHECK(found.parameters[0].bytes == launch.parameters[0].bytes);
    CHECK(found.parameters[1].reachable == 4096);
    CHECK(found.tensors[0].facts.measured_dtype == DType::bfloat16);
    CHECK(found.tensors[0].facts.strides == launch.tensors[0].facts.strides);
}

TEST_CASE("A damaged launch is refused with a reason") {
    const std::string text = render_launch(sample());
    const auto reason = [](const std::string& damaged) { return read_launch(damaged).status().message(); };
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string damaged = text;
        damaged.replace(damaged.find(from), from.size(), to);
        return damaged;
    };
    CHECK(reason("") == "it is not JSON");
    CHECK(reason(text.substr(0, text.size() / 2)) == "it is not JSON");
    CHECK(reason("{}") == "it is no record of a launch");
    CHECK(reason(replaced("\"version\":1", "\"version\":2")) ==
          "it is of a newer version of aoti-dbg. Update aoti-dbg");
    CHECK(reason(replaced("[7,2,1]", "[7,2]")) == "its member \"grid\" is missing or damaged");
    CHECK(reason(replaced("00ff10", "00ff1")) == "its member \"parameters\" is missing or damaged");
    CHECK(reason(replaced("[4,128]", "[4]")) == "its member \"tensors\" is missing or damaged");
}

TEST_CASE("Any bytes are read or refused") {
    Random random(7);
    const std::string text = render_launch(sample());
    for (int i = 0; i < 20000; ++i) {
        std::string damaged = text;
        for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        if (random.below(3) == 0) damaged.resize(random.below(damaged.size()));
        const Result<LaunchRecord> read = read_launch(damaged);
        if (read.ok()) CHECK(read_launch(render_launch(read.value())).ok());
    }
}

}  // namespace
}  // namespace aoti_dbg
