// The measurements that a run may use again: what ends them, and which of several is found.
#include "shim/measure/known_measurements.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace aoti_dbg::known_measurements_test {
namespace {

constexpr Requested kPrinted = Requested::printed;

struct Fixture {
    KnownMeasurements known;
    SeenFacts facts;
    PlannedArgument argument;
    Argument written;

    Fixture() {
        facts.covered_bytes = 0x100;
        written.tensors.resize(1);
        argument.name_number = 1;
        argument.written = &written;
    }
    [[nodiscard]] SeenTensor at(std::uint64_t address) const { return {address, &facts}; }
    void add(std::uint64_t address, std::uint64_t ticket, std::uint32_t sequence = 0) {
        Measurement measurement;
        measurement.ticket = ticket;
        measurement.sequence = sequence;
        known.add(argument, at(address), kPrinted, measurement);
    }
    /// Returns the ticket, or 0.
    [[nodiscard]] std::uint64_t find(std::uint64_t address, std::uint64_t valid_since = 0,
                                     bool by_name = false) const {
        Measurement found;
        return known.find(argument, at(address), kPrinted, by_name, valid_since, found) ? found.ticket : 0;
    }
    [[nodiscard]] std::uint64_t find_named() const {
        SeenTensor seen;
        Measurement found;
        return known.find_named(argument, kPrinted, 0, seen, found) ? found.ticket : 0;
    }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a write ends the measurements of memory that it overlaps, and no other") {
    for (std::uint64_t i = 1; i <= 100; ++i)
        add(i * 0x100, i);
    known.forget_in({0x100 * 40 + 0xff, 2});  // the last byte of one and the first of the next
    known.forget_in({0, 0x100});
    known.forget_in({0x100 * 101, 0x1000});
    for (std::uint64_t i = 1; i <= 100; ++i) {
        CAPTURE(i);
        CHECK(find(i * 0x100) == (i == 40 || i == 41 ? 0 : i));
    }
    known.forget_in({0, UINT64_MAX});
    CHECK(find(0x100) == 0);
}

TEST_CASE_METHOD(Fixture, "the newest measurement of a tensor is found, if its results are still there") {
    add(0x1000, 5);
    add(0x1000, 9);
    CHECK(find(0x1000) == 9);
    CHECK(find(0x1000, 9) == 9);
    CHECK(find(0x1000, 10) == 0);
    facts.likeness[0] = 1;
    CHECK(find(0x1000) == 0);
}

TEST_CASE_METHOD(Fixture, "a name finds the whole tensor and never a view") {
    add(0x1000, 5);
    written.tensors[0].view.emplace();
    add(0x2000, 6);
    written.tensors[0].view.reset();
    CHECK(find_named() == 5);
    argument.name_number = 2;
    CHECK(find_named() == 0);
    CHECK(find(0x1000, 0, true) == 0);
    CHECK(find(0x1000, 0, false) == 5);
}

TEST_CASE_METHOD(Fixture, "what other launches measured is forgotten, and then everything") {
    add(0x1000, 5, 1);
    add(0x2000, 6, 2);
    known.forget_all_but(2);
    CHECK(find(0x1000) == 0);
    CHECK(find(0x2000) == 6);
    known.forget_all();
    CHECK(find(0x2000) == 0);
    CHECK(find_named() == 0);
    add(0x2000, 7);
    CHECK(find(0x2000) == 7);
    known.forget_in({0x2000, 1});
    CHECK(find(0x2000) == 0);
}

}  // namespace aoti_dbg::known_measurements_test
