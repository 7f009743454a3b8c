// The timeline by markers, without a device: the clocks, the starts of kernels, and the ring of launches.
#include <atomic>
#include <thread>
#include <vector>

#include "shim/timeline/device_clock.hpp"
#include "shim/timeline/marker_ring.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::marker_times_test {
namespace {

constexpr std::uint64_t kEpoch = 1'800'000'000'000'000'000;

TEST_CASE("The clock is in the middle of the tightest bounds") {
    DeviceClock clock;
    CHECK(!clock.is_known());
    clock.observe(1000, kEpoch, kEpoch + 400);
    CHECK(clock.is_known());
    CHECK(clock.uncertainty() == 400);
    CHECK(clock.host_time(1000) == kEpoch + 200);
    clock.observe(2000, kEpoch + 1100, kEpoch + 1900);
    CHECK(clock.uncertainty() == 300);
    clock.observe(3000, kEpoch + 1000, kEpoch + 2150);
    CHECK(clock.uncertainty() == 50);
    CHECK(clock.host_time(3000) == kEpoch + 2125);
    clock.observe(4000, kEpoch + 100, kEpoch + 9000);
    CHECK(clock.uncertainty() == 50);
}

TEST_CASE("A device's clock may be ahead of the host's") {
    DeviceClock clock;
    clock.observe(kEpoch + 5000, kEpoch, kEpoch + 10);
    CHECK(clock.host_time(kEpoch + 6000) == kEpoch + 1005);
}

TEST_CASE("Bounds widen with time, and a clock that was set starts over") {
    DeviceClock clock;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    clock.observe(0, kEpoch, kEpoch + 100);
    clock.observe(kSecond, kEpoch, kEpoch + 9 * kSecond);
    CHECK(clock.uncertainty() >= 100'000);
    CHECK(clock.uncertainty() <= 1'000'000);
    CHECK(clock.host_time(kSecond) == kEpoch + kSecond + 50);
    // The clock drifts by 20 parts in a million.
    clock.observe(2 * kSecond, kEpoch + 2 * kSecond + 40'000, kEpoch + 2 * kSecond + 40'100);
    CHECK(clock.uncertainty() == 100);
    CHECK(clock.host_time(2 * kSecond) == kEpoch + 2 * kSecond + 40'050);
    clock.observe(3 * kSecond, kEpoch - 500, kEpoch - 400);
    CHECK(clock.host_time(3 * kSecond) == kEpoch - 450);
    clock.observe(3 * kSecond, kEpoch + 2, kEpoch + 1);
    CHECK(clock.host_time(3 * kSecond) == kEpoch - 450);
}

TEST_CASE("The clock stays while the device always has work queued") {
    DeviceClock clock;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    clock.observe(0, kEpoch, kEpoch + 100);
    for (std::uint64_t i = 1; i <= 60; ++i) {
        const std::uint64_t now = kEpoch + i * kSecond;
        clock.observe(i * kSecond, now - kSecond / 10, now + 10'000);
        CHECK(clock.host_time(i * kSecond) == now + 50);
    }
}

TEST_CASE("A kernel starts when the stream's last one ended, or when its launch began") {
    DeviceClock clock;
    clock.observe(1000, 11'000, 11'000);
    StreamEnds ends;
    const MarkedStreamName one{7, 0};
    const auto add = [&](MarkedStreamName stream, std::uint64_t begun, std::uint64_t device) {
        const HostTimes times = ends.add(stream, begun, device, clock);
        return std::pair(times.start, times.end);
    };
    CHECK(add(one, 10'500, 1000) == std::pair<std::uint64_t, std::uint64_t>(10'500, 11'000));
    CHECK(add(one, 10'600, 1200) == std::pair<std::uint64_t, std::uint64_t>(11'000, 11'200));
    CHECK(add({7, 1}, 10'700, 1300) == std::pair<std::uint64_t, std::uint64_t>(10'700, 11'300));
    CHECK(add(one, 11'900, 2000) == std::pair<std::uint64_t, std::uint64_t>(11'900, 12'000));
    // Threads that launch on one stream at once may put their markers in another order.
    CHECK(add(one, 11'900, 1900) == std::pair<std::uint64_t, std::uint64_t>(12'000, 12'000));
    CHECK(add(one, 99'000, 3000) == std::pair<std::uint64_t, std::uint64_t>(13'000, 13'000));
    for (std::uint64_t i = 0; i < 3 * StreamEnds::kMostStreams; ++i)
        add({100 + i, 0}, 11'000, 4000);
    CHECK(add(one, 13'500, 5000) == std::pair<std::uint64_t, std::uint64_t>(13'500, 15'000));
}

TEST_CASE("Spans of a stream do not overlap when the clock becomes better known") {
    DeviceClock clock;
    clock.observe(1'000'000, 11'000'000, 11'200'000);
    StreamEnds ends;
    const HostTimes first = ends.add({}, 11'000'000, 1'000'000, clock);
    CHECK(first.end == 11'100'000);
    clock.observe(1'010'000, 11'000'000, 11'020'000);
    CHECK(clock.host_time(1'010'000) == 11'015'000);
    const HostTimes second = ends.add({}, 11'000'000, 1'010'000, clock);
    CHECK(second.start == first.end);
    CHECK(second.end == first.end);
    const HostTimes third = ends.add({}, 11'000'000, 1'200'000, clock);
    CHECK(third.start == first.end);
    CHECK(third.end == 11'205'000);
    // The host's clock is set by two seconds.
    clock.observe(2'000'000, 2'011'000'000, 2'011'000'000);
    CHECK(ends.add({}, 2'011'000'000, 2'000'000, clock).end == 2'011'000'000);
    clock.observe(3'000'000, 12'000'000, 12'000'000);
    const HostTimes last = ends.add({}, 11'900'000, 3'000'000, clock);
    CHECK(last.start <= last.end);
    CHECK(last.end == 12'000'000);
}

struct Ring {
    explicit Ring(std::size_t launches) : words(launches), ring(words) {}
    std::optional<std::uint64_t> add(std::uint64_t seq, std::uint64_t stream = 0) {
        return ring.add({.seq = seq, .stream = {stream, 0}});
    }
    void arrive(std::uint64_t position) {
        std::atomic_ref(words[ring.word_of(position)]).store(position + 1, std::memory_order_release);
    }
    std::vector<std::uint64_t> read() {
        std::vector<std::uint64_t> seqs;
        ring.read([&](const MarkedLaunch& launch, std::uint64_t) { seqs.push_back(launch.seq); });
        return seqs;
    }
    std::vector<std::uint64_t> words;
    MarkerRing ring;
};

TEST_CASE("A full ring refuses launches until the oldest ended") {
    Ring ring(4);
    for (std::uint64_t seq = 1; seq <= 4; ++seq)
        CHECK(ring.add(seq, seq) == seq - 1);
    CHECK(!ring.add(5));
    ring.arrive(2);
    CHECK(ring.read() == std::vector<std::uint64_t>{3});
    CHECK(!ring.add(5));
    CHECK(ring.ring.unended() == 3);
    ring.arrive(0);
    CHECK(ring.read() == std::vector<std::uint64_t>{1});
    CHECK(ring.add(5) == 4);
    CHECK(ring.read().empty());
    ring.arrive(4);
    ring.arrive(1);
    CHECK(ring.read() == std::vector<std::uint64_t>{2, 5});
}

TEST_CASE("Launches of a stream come in order, and those taken back never come") {
    Ring ring(8);
    for (std::uint64_t seq = 1; seq <= 4; ++seq)
        ring.add(seq, 7);
    ring.ring.take_back(0);
    ring.arrive(2);
    CHECK(ring.read().empty());
    ring.arrive(1);
    CHECK(ring.read() == std::vector<std::uint64_t>{2, 3});
    CHECK(ring.ring.unended() == 1);
}

TEST_CASE("Threads may add while another reads") {
    constexpr std::uint64_t kEach = 20'000;
    Ring ring(64);
    std::atomic<int> running{3};
    std::atomic<std::uint64_t> full{0};
    const auto launch = [&](std::uint64_t stream) {
        for (std::uint64_t i = 1; i <= kEach; ++i) {
            const auto position = ring.add(i, stream);
            if (!position) ++full;
            if (position && i % 5 == 0) ring.ring.take_back(*position);
            if (position && i % 5 != 0) ring.arrive(*position);
        }
        --running;
    };
    std::vector<std::thread> threads;
    for (std::uint64_t stream = 1; stream <= 3; ++stream)
        threads.emplace_back(launch, stream);
    std::uint64_t read = 0;
    std::uint64_t last[4] = {};
    bool in_order = true;
    for (bool is_last = false; !is_last;) {
        is_last = running == 0;
        ring.ring.read([&](const MarkedLaunch& one, std::uint64_t) {
            in_order = in_order && one.seq > last[one.stream.handle];
            last[one.stream.handle] = one.seq;
            ++read;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(in_order);
    CHECK(ring.ring.unended() == 0);
    CHECK(read + full <= 3 * kEach);
    CHECK(read + full >= 3 * kEach / 5 * 4);
}

}  // namespace
}  // namespace aoti_dbg::marker_times_test
