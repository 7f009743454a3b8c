// Dimensions of tensors: merging them must not change the order of elements.
#include <algorithm>

#include "stats_kernels/logical_walk.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/stats_samples.hpp"

namespace aoti_dbg::stats_view_test {

using namespace stats_fixture;

namespace {

std::vector<std::int64_t> offsets_of(const Layout& layout) {
    Sample sample;
    sample.sizes.assign(layout.sizes, layout.sizes + layout.rank);
    sample.strides.assign(layout.strides, layout.strides + layout.rank);
    return sample.offsets();
}

Layout collapsed(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
    return collapse(sizes, strides);
}

}  // namespace

TEST_CASE("A tensor without elements collapses to rank 1 with size 0") {
    const Layout layout = collapsed({3, 0, 4}, {0, 4, 1});
    CHECK(layout.rank == 1);
    CHECK(layout.sizes[0] == 0);
    CHECK(layout.is_contiguous());
    CHECK(element_count(std::vector<std::int64_t>{3, 0, 4}) == 0);
}

TEST_CASE("A scalar and dimensions of size 1 collapse to nothing, whatever their strides") {
    CHECK(collapsed({}, {}).rank == 0);
    CHECK(collapsed({1, 1, 1}, {99, 0, 7}).rank == 0);
    CHECK(collapsed({1, 5, 1}, {99, 1, 7}).is_contiguous());
    CHECK(element_count({}) == 1);
}

TEST_CASE("Dimensions that one stride can cover become one") {
    CHECK(collapsed({2, 3, 4}, {12, 4, 1}).is_contiguous());
    CHECK(collapsed({2, 3, 4}, {24, 8, 2}).rank == 1);
    CHECK(collapsed({2, 3, 4}, {0, 0, 0}).rank == 1);
    CHECK(collapsed({2, 3, 4}, {16, 4, 1}).rank == 2);
    CHECK(collapsed({3, 4}, {1, 3}).rank == 2);
    CHECK(collapsed(std::vector<std::int64_t>(60, 2), std::vector<std::int64_t>(60, 1)).rank == 60);
}

TEST_CASE("In memory order a transposed tensor is contiguous and repetitions come outermost") {
    const std::vector<std::int64_t> sizes{3, 4, 5};
    CHECK(collapse_in_memory_order(sizes, std::vector<std::int64_t>{1, 3, 12}).is_contiguous());
    const Layout expanded = collapse_in_memory_order(sizes, std::vector<std::int64_t>{5, 0, 1});
    CHECK(expanded.rank == 2);
    CHECK(expanded.strides[0] == 0);
    CHECK(expanded.strides[1] == 1);
}

TEST_CASE("Collapsing keeps the order of elements, memory order keeps the elements") {
    Engine random(20);
    for (int round = 0; round < 2000; ++round) {
        Sample sample;
        make_layout(sample, static_cast<Shape>(below(random, kShapes)), 300, random);
        INFO("round " << round << ": " << sample.name());
        const Layout layout = collapse(sample.sizes, sample.strides);
        std::vector<std::int64_t> offsets = sample.offsets();
        REQUIRE(offsets_of(layout) == offsets);
        const Layout sorted = collapse_in_memory_order(sample.sizes, sample.strides);
        std::vector<std::int64_t> in_memory = offsets_of(sorted);
        if (lies_in_logical_order(sample.sizes, sample.strides)) REQUIRE(in_memory == offsets);
        std::sort(offsets.begin(), offsets.end());
        std::sort(in_memory.begin(), in_memory.end());
        REQUIRE(in_memory == offsets);
    }
}

TEST_CASE("A walk from any start in any steps reads the elements in order") {
    Engine random(21);
    for (int round = 0; round < 500; ++round) {
        Sample sample = make_sample(DType::uint32, static_cast<Shape>(below(random, kShapes)),
                                    Content::any_bits, 300, random);
        const std::vector<std::int64_t> offsets = sample.offsets();
        if (offsets.empty()) continue;
        INFO("round " << round << ": " << sample.name());
        const Layout layout = collapse(sample.sizes, sample.strides);
        std::uint64_t at = below(random, offsets.size());
        LogicalWalk walk(sample.view().data, 4, layout, at);
        while (at < offsets.size()) {
            const auto step = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(1 + below(random, 50), offsets.size() - at));
            std::vector<unsigned char> read(std::size_t{step} * 4);
            walk.gather(step, read.data());
            for (std::uint32_t i = 0; i < step; ++i)
                REQUIRE(std::memcmp(read.data() + std::size_t{i} * 4, sample.element(offsets[at + i]), 4) ==
                        0);
            at += step;
        }
    }
}

}  // namespace aoti_dbg::stats_view_test
