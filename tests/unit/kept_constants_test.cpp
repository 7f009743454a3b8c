#include "shim/measure/kept_constants.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg {
namespace {

TEST_CASE("A constant is measured again after a container changed, or if another container passes its own") {
    const PlannedArgument weight;
    const SeenFacts facts;
    const SeenTensor seen{0x1000, &facts};
    const KeptConstants::Key first{&weight, 0x1000, 1};
    const KeptConstants::Key changed{&weight, 0x1000, 2};
    const KeptConstants::Key other{&weight, 0x2000, 1};
    KeptConstants constants;
    CHECK(constants.find(first) == kNotKept);
    const std::uint32_t number = constants.expect(first, seen, 7);
    REQUIRE(number != kNotKept);
    CHECK(constants.find(first) == kNotKept);
    CHECK(constants.expect(first, seen, 8) == kNotKept);
    const TensorPartial partial{};
    constants.fill(number, &partial);
    CHECK(constants.find(first) == number);
    CHECK(constants.at(number).call == 7);
    CHECK(constants.find(changed) == kNotKept);
    CHECK(constants.find(other) == kNotKept);
    const std::uint32_t newer = constants.expect(changed, seen, 9);
    constants.fill(newer, &partial);
    CHECK(constants.find(changed) == newer);
    // Queued calls may still refer to it.
    CHECK(constants.at(number).call == 7);
}

TEST_CASE("A constant whose result never comes is measured again") {
    const PlannedArgument weight;
    const SeenFacts facts;
    const KeptConstants::Key key{&weight, 0x1000, 1};
    KeptConstants constants;
    constants.fill(constants.expect(key, {0x1000, &facts}, 1), nullptr);
    CHECK(constants.find(key) == kNotKept);
    CHECK(constants.expect(key, {0x1000, &facts}, 2) != kNotKept);
}

}  // namespace
}  // namespace aoti_dbg
