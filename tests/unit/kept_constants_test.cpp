// What is kept of constants: results that never arrive, updates, and containers with different weights.
#include "shim/measure/kept_constants.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::kept_constants_test {
namespace {

struct Fixture {
    KeptConstants kept;
    PlannedArgument weight;
    SeenFacts facts;
    SeenTensor seen{0x1000, &facts};
    TensorPartial result;

    KeptConstants::FoundByThread last;

    std::uint32_t expect(const ConstantsOwner& owner) { return kept.expect(weight, seen, owner, 0); }
    /// Asks twice: the thread's own memory gives the second answer.
    std::uint32_t find(const ConstantsOwner& owner) {
        const KeptConstants::Found* const found = kept.find(weight, owner, last);
        CHECK(kept.find(weight, owner, last) == found);
        return found == nullptr ? kNotKept : found->number;
    }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a constant whose result never arrives is kept the next time") {
    const std::uint32_t lost = expect({1, 1});
    REQUIRE(lost != kNotKept);
    CHECK(find({1, 1}) == kNotKept);
    CHECK(expect({1, 1}) == kNotKept);
    kept.fill(lost, nullptr);
    const std::uint32_t next = expect({1, 1});
    REQUIRE(next != kNotKept);
    kept.fill(next, &result);
    CHECK(find({1, 1}) == next);
}

TEST_CASE_METHOD(Fixture, "a constant is measured again after an update") {
    kept.fill(expect({1, 1}), &result);
    CHECK(find({1, 1}) != kNotKept);
    CHECK(find({1, 2}) == kNotKept);
}

TEST_CASE_METHOD(Fixture, "containers of one model do not share what is kept") {
    const std::uint32_t one = expect({1, 1});
    kept.fill(one, &result);
    CHECK(find({1, 1}) == one);
    CHECK(find({2, 1}) == kNotKept);
    const std::uint32_t other = expect({2, 1});
    kept.fill(other, &result);
    CHECK(other != one);
    CHECK(find({1, 1}) == one);
}

TEST_CASE_METHOD(Fixture, "a thread tells constants apart that share a place in its memory") {
    PlannedArgument other;
    other.number = weight.number + last.size();
    kept.fill(expect({1, 1}), &result);
    kept.fill(kept.expect(other, seen, {1, 1}, 0), &result);
    const std::uint32_t first = find({1, 1});
    const KeptConstants::Found* const second = kept.find(other, {1, 1}, last);
    REQUIRE(second != nullptr);
    CHECK(second->number != first);
    CHECK(find({1, 1}) == first);
}

}  // namespace aoti_dbg::kept_constants_test
