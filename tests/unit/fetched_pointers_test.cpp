// The tensor that a pointer belongs to, by the order in which the model asked for addresses.
#include "shim/tensors/fetched_pointers.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::fetched_pointers_test {
namespace {

using Passed = std::vector<PassedPointer>;
using Fetched = std::vector<FetchedPointer>;
using Handles = std::vector<TensorHandle>;

TensorHandle handle(std::uintptr_t number) {
    return reinterpret_cast<TensorHandle>(number);
}

struct Matched {
    bool fits = false;
    Handles handles;
    FetchOrder order;
};

Matched match(const Passed& passed, const Fetched& fetched, FetchOrder order = FetchOrder::first_to_last) {
    Matched matched{false, {}, order};
    matched.fits = match_pointers(passed, fetched, matched.order, matched.handles);
    return matched;
}

constexpr FetchOrder kForward = FetchOrder::first_to_last;
constexpr FetchOrder kBackward = FetchOrder::last_to_first;

}  // namespace

TEST_CASE("A buffer and its view at one address are distinguished in either order of evaluation") {
    // kernel(input, buffer, view of buffer at offset 0, view at offset 8)
    const Passed passed = {{0x100}, {0x200}, {0x200}, {0x208}};
    const Handles expected = {handle(1), handle(2), handle(3), handle(4)};
    const Matched forward = match(
        passed, {{0x100, handle(1)}, {0x200, handle(2)}, {0x200, handle(3)}, {0x208, handle(4)}}, kBackward);
    CHECK(forward.fits);
    CHECK(forward.handles == expected);
    CHECK(forward.order == kForward);
    const Matched backward = match(
        passed, {{0x208, handle(4)}, {0x200, handle(3)}, {0x200, handle(2)}, {0x100, handle(1)}}, kForward);
    CHECK(backward.fits);
    CHECK(backward.handles == expected);
    CHECK(backward.order == kBackward);
}

TEST_CASE("Ambiguous addresses follow the order that was seen last") {
    const Passed passed = {{0x200}, {0x200}};
    const Fetched fetched = {{0x200, handle(1)}, {0x200, handle(2)}};
    CHECK(match(passed, fetched, kForward).handles == Handles{handle(1), handle(2)});
    CHECK(match(passed, fetched, kBackward).handles == Handles{handle(2), handle(1)});
    CHECK(match(passed, fetched, kForward).order == kForward);
    CHECK(match(passed, fetched, kBackward).order == kBackward);
}

TEST_CASE("Weights that the model does not ask for are left out, and views of them are not") {
    // kernel(view of the weight, the weight itself, output)
    const Passed passed = {{0x200}, {0x200, true}, {0x300}};
    const Matched matched = match(passed, {{0x200, handle(1)}, {0x300, handle(2)}});
    CHECK(matched.fits);
    CHECK(matched.handles == Handles{handle(1), nullptr, handle(2)});
    // A release that asks for weights too.
    const Passed all = {{0x200, true}, {0x300}};
    CHECK(match(all, {{0x100, handle(9)}, {0x200, handle(1)}, {0x300, handle(2)}}).handles ==
          Handles{nullptr, handle(2)});
    CHECK(match({{0x300}, {0x200, true}}, {{0x300, handle(2)}, {0x200, handle(1)}}).handles ==
          Handles{handle(2), handle(1)});
}

TEST_CASE("Tensors without elements have a place like any other") {
    const Passed passed = {{0}, {0x100}, {0}};
    const Matched matched = match(passed, {{0, handle(1)}, {0x100, handle(2)}, {0, handle(3)}});
    CHECK(matched.handles == Handles{handle(1), handle(2), handle(3)});
}

TEST_CASE("Requests before the kernel's own pointers are skipped") {
    const Matched matched =
        match({{0x100}, {0x200}}, {{0x900, handle(9)}, {0x100, handle(1)}, {0x200, handle(2)}});
    CHECK(matched.handles == Handles{handle(1), handle(2)});
}

TEST_CASE("Pointers that no order explains stay unknown") {
    CHECK_FALSE(match({{0x100}, {0x200}}, {{0x100, handle(1)}}).fits);
    CHECK_FALSE(match({{0x100}, {0x200}}, {{0x100, handle(1)}, {0x300, handle(3)}}).fits);
    CHECK_FALSE(match({{0x100}}, {}).fits);
    CHECK(match({}, {}).fits);
    CHECK(match({}, {{0x100, handle(1)}}).handles.empty());
}

}  // namespace aoti_dbg::fetched_pointers_test
