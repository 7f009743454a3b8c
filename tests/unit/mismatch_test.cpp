// Inputs held against what the source says: what may look wrong and is not first.
#include "shim/check/mismatch.hpp"

#include "tests/support/catch.hpp"

using namespace aoti_dbg;

namespace {

using Sizes = std::vector<std::int64_t>;

/// Of an example of [2..512, 12].
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

TEST_CASE("A guard that says nothing is met by every tensor") {
    CHECK(checks(tensor(), InputGuard{}).empty());
    CHECK(checks(tensor({}, {}), InputGuard{}).empty());
}

TEST_CASE("Size 1 and 0 are no mismatch with the bound that every export has, and other bounds are kept") {
    CHECK(checks(tensor({1, 12})).empty());
    CHECK(checks(tensor({0, 12})).empty());
    InputGuard guard = example();
    guard.sizes[0].least = 4;
    CHECK(checks(tensor({3, 12}), guard) == Found{"size"});
    CHECK(checks(tensor({512, 12})).empty());
    CHECK(checks(tensor({513, 12})) == Found{"size"});
}

TEST_CASE("Strides count where an element follows and where the code goes by them") {
    CHECK(checks(tensor({1, 12}, {999, 1})).empty());
    CHECK(checks(tensor({0, 12}, {999, 7})).empty());
    CHECK(checks(tensor({6, 12}, {1, 6})) == Found{"stride"});
    CHECK(checks(tensor({6, 12}, {1, 6}), example(), false).empty());
}

TEST_CASE(
    "Of a tensor with other sizes the strides are not told, nor single sizes of one with another rank") {
    CHECK(checks(tensor({6, 13}, {13, 1})) == Found{"size"});
    CHECK(checks(tensor({12}, {1})) == Found{"rank"});
    CHECK(checks(tensor({6, 12, 1}, {12, 1, 1})) == Found{"rank"});
    CHECK(checks(tensor({}, {})) == Found{"rank"});
}

TEST_CASE("All sizes that are wrong are told in one, each with its dimension") {
    const std::vector<Mismatch> wrong = compare_input(example(), true, tensor({600, 17}, {17, 1}));
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].check == "size");
    CHECK(wrong[0].expected == "≤ 512 at dim 0, 12 at dim 1");
    CHECK(wrong[0].found == "600 and 17 (shape [600, 17])");
}

TEST_CASE("Where a dimension is not spoken of, more dimensions than those are not wrong") {
    InputGuard guard = example();
    guard.sizes = {{true, 4, 4}};  // the second is dynamic and without bounds
    CHECK(checks(tensor({4, 99}, {12, 1}), guard).empty());
    guard.sizes = {{}, {true, 12, 12}};
    CHECK(checks(tensor({4, 12, 3}, {12, 1, 1}), guard).empty());
    CHECK(checks(tensor({4}, {12}), guard) == Found{"rank"});
}

TEST_CASE("Dtype and device are told by name, each for itself") {
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

TEST_CASE("A pointer that the driver does not know is wrong only where devices reach no memory of the host") {
    CHECK_FALSE(compare_pointer(0x1008, 0, {false, {}, 0, true}));
    const std::optional<Mismatch> wrong = compare_pointer(0x1008, 0, {false, {}, 0, false});
    REQUIRE(wrong);
    CHECK(wrong->check == "memory");
    CHECK(wrong->found.find("0x1008") != std::string::npos);
}

TEST_CASE("The device of a pointer counts where both are known") {
    CHECK_FALSE(compare_pointer(0x1000, 0, {true, {}, 0, false}));
    CHECK_FALSE(compare_pointer(0x1000, 0, {true, 1, {}, false}));
    CHECK_FALSE(compare_pointer(0x1000, 0, {true, 1, 1, false}));
    CHECK(compare_pointer(0x1000, 0, {true, 1, 0, false})->found == "cuda:1");
}

TEST_CASE("An address is misaligned where the code relies on more") {
    const PointerFacts good{true, 0, 0, false};
    CHECK_FALSE(compare_pointer(0x1004, 0, good));
    CHECK_FALSE(compare_pointer(0x1010, 16, good));
    CHECK(compare_pointer(0x1008, 16, good)->check == "alignment");
}

TEST_CASE("A view lies in its storage up to the last byte, and one of no elements anywhere") {
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
