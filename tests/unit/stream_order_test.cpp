// The ordering of work, compared with a reference that keeps the full set of predecessors for each piece of
// work.
#include "shim/check/stream_order.hpp"

#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::stream_order_test {
namespace {

using Kind = StreamOrder::Kind;
using Use = StreamOrder::Use;

/// Two unordered streams, and work on them that touches memory.
struct Device {
    StreamOrder order;
    StreamOrder::Stream legacy = order.add_stream(Kind::legacy, 1);
    StreamOrder::Stream blocking = order.add_stream(Kind::blocking, 1);
    StreamOrder::Stream free = order.add_stream(Kind::free, 1);
    StreamOrder::Stream other = order.add_stream(Kind::free, 1);
    std::uint32_t calls = 0;

    /// The call that this access races with, or -1. Each access is a call of its own.
    int touch(StreamOrder::Stream stream, std::uint64_t address, std::uint64_t bytes, Use use) {
        Toucher who;
        who.call = calls++;
        order.begin(stream);
        const auto conflict = order.touch(stream, {address, bytes, use}, who);
        return conflict ? static_cast<int>(conflict->earlier.call) : -1;
    }
    int read(StreamOrder::Stream stream, std::uint64_t address = 100, std::uint64_t bytes = 8) {
        return touch(stream, address, bytes, Use::reads);
    }
    int write(StreamOrder::Stream stream, std::uint64_t address = 100, std::uint64_t bytes = 8) {
        return touch(stream, address, bytes, Use::writes);
    }
};

TEST_CASE("Work of two streams races if one of both writes, and only if they touch the same memory") {
    Device device;
    CHECK(device.write(device.free) == -1);
    CHECK(device.read(device.free) == -1);
    CHECK(device.read(device.other, 108) == -1);
    CHECK(device.read(device.other, 92) == -1);
    CHECK(device.read(device.other, 107, 1) == 0);
    Device readers;
    CHECK(readers.read(readers.free) == -1);
    CHECK(readers.read(readers.other) == -1);
    CHECK(readers.write(readers.other) == 0);
    CHECK(readers.write(readers.other) == -1);
    CHECK(readers.write(readers.free) == 3);
}

TEST_CASE("An event orders what was before it with what waits for it, and nothing else") {
    Device device;
    device.write(device.free);
    device.order.record(7, device.free);
    device.write(device.free, 200);
    device.order.wait_for(device.other, 7);
    CHECK(device.write(device.other) == -1);
    CHECK(device.read(device.other, 200) == 1);
    // A new recording covers more.
    device.order.record(7, device.free);
    device.write(device.free, 300);
    device.order.wait_for(device.other, 7);
    CHECK(device.write(device.other, 200) == -1);
    CHECK(device.write(device.other, 300) == 4);
}

TEST_CASE("Work that the host has waited for precedes all that it submits later") {
    Device device;
    device.write(device.free);
    device.order.record(7, device.free);
    device.write(device.free, 200);
    device.order.host_waited(7);
    CHECK(device.read(device.other) == -1);
    CHECK(device.read(device.other, 200) == 1);
    device.write(device.free, 300);
    device.order.host_waited_for(device.free);
    CHECK(device.write(device.other, 300) == -1);
    device.write(device.free, 400);
    device.order.host_waited_for_all();
    CHECK(device.write(device.other, 400) == -1);
}

TEST_CASE("The legacy stream is ordered with blocking ones of its context") {
    Device device;
    const StreamOrder::Stream second = device.order.add_stream(Kind::blocking, 1);
    const StreamOrder::Stream elsewhere = device.order.add_stream(Kind::blocking, 2);
    device.write(device.blocking);
    CHECK(device.read(second) == 0);
    device.write(device.blocking, 200);
    CHECK(device.write(device.legacy, 200) == -1);
    CHECK(device.write(second, 200) == -1);
    CHECK(device.read(device.free, 200) == 4);
    CHECK(device.read(elsewhere, 200) == 4);
    // Any work on the legacy stream counts.
    device.write(device.blocking, 300);
    device.order.begin(device.legacy);
    CHECK(device.write(second, 300) == -1);
}

TEST_CASE("A stream in the place of a destroyed one has its own kind, and follows that one's work") {
    Device device;
    device.write(device.other);
    device.order.make_anew(device.other, Kind::blocking, 1);
    CHECK(device.write(device.other) == -1);
    CHECK(device.write(device.legacy) == -1);
    device.order.make_anew(device.other, Kind::free, 1);
    CHECK(device.read(device.other) == 2);
}

TEST_CASE("Unknown order counts as ordered") {
    Device device;
    device.write(device.free);
    SECTION("an event recorded before tracking started") {
        device.order.wait_for(device.other, 9);
    }
    SECTION("the same for the host") {
        device.order.host_waited(9);
    }
    SECTION("a wait for a value in memory") {
        device.order.wait_for_all(device.other);
    }
    SECTION("memory that was given to another owner") {
        device.order.forget_memory(96, 104);
    }
    CHECK(device.write(device.other) == -1);
}

TEST_CASE("If memory is forgotten in part, the rest is still known") {
    Device device;
    device.write(device.free, 100, 30);
    device.order.forget_memory(110, 10);
    CHECK(device.read(device.other, 110, 10) == -1);
    CHECK(device.read(device.other, 109, 1) == 0);
    CHECK(device.read(device.other, 120, 1) == 0);
}

TEST_CASE("Of several conflicts the one with a model call is reported") {
    Device device;
    Toucher program;
    program.function = "cuMemcpyDtoDAsync";
    const auto by_program = [&](StreamOrder::Stream stream, Use use) {
        device.order.begin(stream);
        return device.order.touch(stream, {100, 8, use}, program);
    };
    device.read(device.free);
    CHECK_FALSE(by_program(device.free, Use::reads));
    const auto conflict = by_program(device.other, Use::writes);
    REQUIRE(conflict);
    CHECK(conflict->earlier.is_call());
    CHECK(conflict->earlier_use == Use::reads);
}

TEST_CASE("A possible write is no race by itself, but precedes the write that it may have replaced") {
    Device device;
    const auto may_write = [&](StreamOrder::Stream stream) {
        return device.touch(stream, 100, 8, Use::may_write);
    };
    CHECK(may_write(device.free) == -1);
    CHECK(device.read(device.other) == -1);
    CHECK(may_write(device.other) == -1);
    device.order.host_waited_for_all();
    CHECK(device.write(device.free) == -1);
    CHECK(may_write(device.free) == -1);
    CHECK(device.read(device.free) == -1);
    CHECK(device.read(device.other) == 4);
    CHECK(may_write(device.other) == 4);
    CHECK(device.write(device.other) == 4);
}

TEST_CASE("Empty ranges and ranges beyond the last address touch nothing") {
    Device device;
    CHECK(device.write(device.free, 100, 0) == -1);
    CHECK(device.write(device.free, ~std::uint64_t{0} - 3, 8) == -1);
    CHECK(device.write(device.other, 0, ~std::uint64_t{0}) == -1);
}

/// Random programs. The reference knows all predecessors of each piece of work.
class Judged {
  public:
    explicit Judged(std::uint64_t seed) : random_(seed) {
        for (const Kind kind : {Kind::legacy, Kind::blocking, Kind::blocking, Kind::free, Kind::free}) {
            order_.add_stream(kind, 1);
            kinds_.push_back(kind);
            last_.emplace_back();
        }
    }

    /// Whether it had a race. Both must agree up to that point.
    bool run() {
        const std::size_t steps = 4 + random_.below(60);
        for (std::size_t step = 0; step < steps; ++step) {
            const std::size_t stream = random_.below(kinds_.size());
            const auto event = random_.below(3);
            switch (random_.below(12)) {
                case 0:
                    work(stream);
                    order_.record(event, static_cast<StreamOrder::Stream>(stream));
                    events_[event] = last_[stream];
                    break;
                case 1: {
                    if (events_[event].empty()) break;
                    work(stream);
                    order_.wait_for(static_cast<StreamOrder::Stream>(stream), event);
                    add(last_[stream], events_[event]);
                    break;
                }
                case 2:
                    if (events_[event].empty()) break;
                    order_.host_waited(event);
                    add(host_, events_[event]);
                    break;
                case 3:
                    wait_for_more(stream);
                    break;
                default:
                    if (touch(stream)) return true;
            }
        }
        return false;
    }

  private:
    using Set = std::set<int>;
    struct Touched {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        bool writes = false;
    };

    /// The rare steps: waits for one or all streams, and new or replaced streams.
    void wait_for_more(std::size_t stream) {
        const auto number = static_cast<StreamOrder::Stream>(stream);
        Set all;
        for (const Set& each : last_)
            add(all, each);
        switch (random_.below(9)) {
            case 0:
            case 1:
            case 2:
                work(stream);
                order_.host_waited_for(number);
                add(host_, last_[stream]);
                break;
            case 3:
                order_.host_waited_for_all();
                add(host_, all);
                break;
            case 4:
                work(stream);
                order_.wait_for_all(number);
                add(last_[stream], all);
                break;
            case 5: {
                const Kind kind = random_.one_in(2) ? Kind::free : Kind::blocking;
                order_.make_anew(number, kind, 1);
                kinds_[stream] = kind;
                break;
            }
            case 6:
                order_.add_stream(Kind::free, 1);
                kinds_.push_back(Kind::free);
                last_.emplace_back();
                break;
            default:
                break;
        }
    }

    static void add(Set& set, const Set& more) { set.insert(more.begin(), more.end()); }

    /// Submits work to the stream, whose `last_` becomes this work and all its predecessors.
    void work(std::size_t stream) {
        Set before = last_[stream];
        add(before, host_);
        for (std::size_t i = 0; i < kinds_.size(); ++i) {
            const bool waits = (kinds_[stream] == Kind::legacy && kinds_[i] == Kind::blocking) ||
                               (kinds_[stream] == Kind::blocking && kinds_[i] == Kind::legacy);
            if (waits) add(before, last_[i]);
        }
        last_[stream] = before;
    }

    bool touch(std::size_t stream) {
        work(stream);
        const auto begin = random_.below(24);
        const Touched now{begin, begin + 1 + random_.below(12), random_.one_in(3)};
        const auto number = static_cast<int>(touched_.size());
        Set unordered;
        for (int i = 0; i < number; ++i) {
            const Touched& before = touched_[static_cast<std::size_t>(i)];
            const bool meet = before.begin < now.end && now.begin < before.end;
            if (meet && (before.writes || now.writes) && last_[stream].count(i) == 0) unordered.insert(i);
        }
        touched_.push_back(now);
        last_[stream].insert(number);

        Toucher who;
        who.call = static_cast<std::uint32_t>(number);
        const auto number_of = static_cast<StreamOrder::Stream>(stream);
        order_.begin(number_of);
        const auto conflict = order_.touch(
            number_of, {now.begin, now.end - now.begin, now.writes ? Use::writes : Use::reads}, who);
        CHECK(conflict.has_value() == !unordered.empty());
        if (!conflict) return !unordered.empty();
        CHECK(unordered.count(static_cast<int>(conflict->earlier.call)) == 1);
        CHECK((conflict->earlier_use == Use::writes) == touched_[conflict->earlier.call].writes);
        return true;
    }

    Random random_;
    StreamOrder order_;
    std::vector<Kind> kinds_;
    std::vector<Set> last_;  // by stream
    Set host_;
    Set events_[3];
    std::vector<Touched> touched_;
};

TEST_CASE("Random programs have their first race where the reference sees it, or none") {
    int races = 0;
    int sound = 0;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        CAPTURE(seed);
        const bool had_race = Judged(seed).run();
        (had_race ? races : sound) += 1;
    }
    CHECK(races > 500);
    CHECK(sound > 100);
}

}  // namespace
}  // namespace aoti_dbg::stream_order_test
