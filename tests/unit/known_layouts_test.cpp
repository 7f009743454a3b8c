// The facts of fixed layouts: they hold from the run after they were read, under the same circumstances.
#include "shim/tensors/known_layouts.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::known_layouts_test {
namespace {

struct Fixture {
    KnownLayouts known;
    SeenFacts facts;
    SeenFacts others;
    PlannedArgument argument;

    Fixture() { argument.layout = 3; }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "facts are known in later runs than the one that read them") {
    CHECK(known.find(argument, 0) == nullptr);
    known.keep(argument, 0, &facts);
    CHECK(known.find(argument, 0) == nullptr);
    CHECK(known.find(argument, 1) == &facts);
    CHECK(known.find(argument, 2) == &facts);
    argument.layout = 2;
    CHECK(known.find(argument, 1) == nullptr);
}

TEST_CASE_METHOD(Fixture, "a layout that a run shows in two ways is never known") {
    known.keep(argument, 0, &facts);
    known.keep(argument, 0, &others);
    known.keep(argument, 0, &facts);
    CHECK(known.find(argument, 1) == nullptr);
    known.keep(argument, 1, &facts);
    CHECK(known.find(argument, 2) == nullptr);
}

TEST_CASE_METHOD(Fixture, "a layout that may change is never known") {
    argument.layout = kNone;
    known.keep(argument, 0, &facts);
    CHECK(known.find(argument, 1) == nullptr);
}

TEST_CASE_METHOD(Fixture, "facts end with their circumstances") {
    const KnownLayouts::Circumstances one{1, 2, 3};
    known.expect(one);
    known.keep(argument, 0, &facts);
    known.expect(one);
    CHECK(known.find(argument, 1) == &facts);
    for (const KnownLayouts::Circumstances& other :
         {KnownLayouts::Circumstances{9, 2, 3}, {1, 9, 3}, {1, 2, 9}}) {
        known.keep(argument, 0, &facts);
        known.expect(other);
        CHECK(known.find(argument, 1) == nullptr);
    }
    known.keep(argument, 1, &others);
    known.forget();
    CHECK(known.find(argument, 2) == nullptr);
}

}  // namespace aoti_dbg::known_layouts_test
