// Inputs compared with the source's requirements: inputs that only look wrong come first.
#include "shim/check/mismatch.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::mismatch_test {
namespace {

using Sizes = std::vector<std::int64_t>;

/// The guard for an example of size [2..512, 12].
InputGuard example() {
    InputGuard guard;
    guard.name = "arg0_1";
    guard.dtype = "float32";
    guard.device_type = 1;
    guard.sizes = {{true, 2, 512}, {true, 12, 12}};
    guard.strides = {12, 1};
    return guard;
}

TensorFacts tensor(Sizes sizes = {6, 12}, Sizes strides = {12, 1}) {
    TensorFacts facts;
    facts.dtype = "float32";
    facts.device = "cuda:0";
    facts.sizes = std::move(sizes);
    facts.strides = std::move(strides);
    return facts;
}

std::vector<std::string> checks(const TensorFacts& facts, const InputGuard& guard = example(),
                                bool relies = true) {
    std::vector<std::string> found;
    for (const Mismatch& mismatch : compare_input(guard, relies, facts)) {
        CHECK_FALSE(mismatch.expected.empty());
        CHECK_FALSE(mismatch.found.empty());
        CHECK_FALSE(mismatch.advice.empty());
        found.push_back(mismatch.check);
    }
    return found;
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("Every tensor meets an empty guard") {
    CHECK(checks(tensor(), InputGuard{}).empty());
    CHECK(checks(tensor({}, {}), InputGuard{}).empty());
}

TEST_CASE("Sizes 0 and 1 do not violate the bound that every export has, and other bounds apply") {
    CHECK(checks(tensor({1, 12})).empty());
    CHECK(checks(tensor({0, 12})).empty());
    InputGuard guard = example();
    guard.sizes[0].least = 4;
    CHECK(checks(tensor({3, 12}), guard) == Found{"size"});
    CHECK(checks(tensor({512, 12})).empty());
    CHECK(checks(tensor({513, 12})) == Found{"size"});
}

TEST_CASE("Strides count where an element follows and where the code relies on them") {
    CHECK(checks(tensor({1, 12}, {999, 1})).empty());
    CHECK(checks(tensor({0, 12}, {999, 7})).empty());
    CHECK(checks(tensor({6, 12}, {1, 6})) == Found{"stride"});
    CHECK(checks(tensor({6, 12}, {1, 6}), example(), false).empty());
}

TEST_CASE("Wrong sizes hide the strides, and a wrong rank hides single sizes") {
    CHECK(checks(tensor({6, 13}, {13, 1})) == Found{"size"});
    CHECK(checks(tensor({12}, {1})) == Found{"rank"});
    CHECK(checks(tensor({6, 12, 1}, {12, 1, 1})) == Found{"rank"});
    CHECK(checks(tensor({}, {})) == Found{"rank"});
}

TEST_CASE("All wrong sizes are reported together, each with its dimension") {
    const std::vector<Mismatch> wrong = compare_input(example(), true, tensor({600, 17}, {17, 1}));
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].check == "size");
    CHECK(wrong[0].expected == "≤ 512 at dim 0, 12 at dim 1");
    CHECK(wrong[0].found == "600 and 17 (shape [600, 17])");
}

TEST_CASE("If a dimension is unchecked, further dimensions are not wrong either") {
    InputGuard guard = example();
    guard.sizes = {{true, 4, 4}};  // the second is dynamic and without bounds
    CHECK(checks(tensor({4, 99}, {12, 1}), guard).empty());
    guard.sizes = {{}, {true, 12, 12}};
    CHECK(checks(tensor({4, 12, 3}, {12, 1, 1}), guard).empty());
    CHECK(checks(tensor({4}, {12}), guard) == Found{"rank"});
}

TEST_CASE("Dtype and device are reported by name, each separately") {
    TensorFacts facts = tensor();
    facts.dtype = "float64";
    facts.device = "cpu";
    CHECK(checks(facts) == Found{"device", "dtype"});
    const std::vector<Mismatch> wrong = compare_input(example(), true, facts);
    CHECK(wrong[0].expected == "cuda");
    CHECK(wrong[0].found == "cpu");
    CHECK(wrong[1].advice == "convert it: arg0_1.to(torch.float32)");
}

TEST_CASE("A dtype without a name here, and a kind of device without a number here, are not judged") {
    TensorFacts facts = tensor();
    facts.dtype = "code 77";
    CHECK(checks(facts).empty());
    InputGuard guard = example();
    guard.device_type = 13;
    CHECK(checks(tensor(), guard).empty());
}

TEST_CASE("A pointer unknown to the driver is wrong only if devices cannot reach host memory") {
    CHECK_FALSE(compare_pointer(0x1008, 0, {false, {}, 0, true}));
    const std::optional<Mismatch> wrong = compare_pointer(0x1008, 0, {false, {}, 0, false});
    REQUIRE(wrong);
    CHECK(wrong->check == "memory");
    CHECK(wrong->found.find("0x1008") != std::string::npos);
}

TEST_CASE("The device of a pointer counts if both are known") {
    CHECK_FALSE(compare_pointer(0x1000, 0, {true, {}, 0, false}));
    CHECK_FALSE(compare_pointer(0x1000, 0, {true, 1, {}, false}));
    CHECK_FALSE(compare_pointer(0x1000, 0, {true, 1, 1, false}));
    CHECK(compare_pointer(0x1000, 0, {true, 1, 0, false})->found == "cuda:1");
}

TEST_CASE("An address is misaligned if the code relies on a larger alignment") {
    const PointerFacts good{true, 0, 0, false};
    CHECK_FALSE(compare_pointer(0x1004, 0, good));
    CHECK_FALSE(compare_pointer(0x1010, 16, good));
    CHECK(compare_pointer(0x1008, 16, good)->check == "alignment");
}

TEST_CASE("A view fits if its storage includes its last byte, and an empty one always fits") {
    const auto is_wrong = [](const Sizes& sizes, const Sizes& strides, std::int64_t offset,
                             std::int64_t bytes) {
        return compare_view({sizes, strides, offset, 4, bytes}).has_value();
    };
    CHECK_FALSE(is_wrong({2, 3}, {3, 1}, 0, 24));
    CHECK(is_wrong({2, 3}, {3, 1}, 0, 23));
    CHECK(is_wrong({2, 3}, {3, 1}, 1, 24));
    CHECK_FALSE(is_wrong({2, 3}, {0, 1}, 0, 12));
    CHECK_FALSE(is_wrong({0, 3}, {3, 1}, 99, 24));
    CHECK(is_wrong({}, {}, 6, 24));
    CHECK_FALSE(is_wrong({}, {}, 5, 24));
    CHECK_FALSE(is_wrong({INT64_MAX, INT64_MAX}, {INT64_MAX, 1}, 0, 24));
    CHECK_FALSE(is_wrong({2}, {1}, 0, -1));
    CHECK_FALSE(is_wrong({2}, {1}, -9, 4));
}

}  // namespace aoti_dbg::mismatch_test
