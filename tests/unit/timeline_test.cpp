// The parts of the timeline that need no device: which call submitted the device's work, and the lines.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "shim/timeline/call_times.hpp"
#include "shim/timeline/span_matcher.hpp"
#include "shim/timeline/tick_clock.hpp"
#include "shim/timeline/timeline_output.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::timeline_test {
namespace {

using Json = nlohmann::json;

TEST_CASE("A time finds the innermost call that ran then") {
    const std::unique_ptr<CallTimes> times = CallTimes::create(1);
    times->begin(100, 1);
    times->begin(110, 2);
    times->end(120);
    times->begin(130, 3);
    times->begin(135, 4);
    times->end(136);
    times->end(140);
    times->end(150);
    times->begin(160, 5);
    CHECK(times->find(10, 99) == 0);
    CHECK(times->find(90, 100) == 1);
    CHECK(times->find(105, 106) == 1);
    CHECK(times->find(112, 118) == 2);
    CHECK(times->find(105, 118) == 2);  // a function of the runtime, around the launch
    CHECK(times->find(122, 125) == 1);
    CHECK(times->find(131, 139) == 4);
    CHECK(times->find(137, 138) == 3);
    CHECK(times->find(141, 149) == 1);
    CHECK(times->find(151, 159) == 0);
    CHECK(times->find(170, 180) == 5);  // still runs
}

TEST_CASE("Calls that are overwritten are not found, and never another in their place") {
    const std::unique_ptr<CallTimes> times = CallTimes::create(1);
    times->begin(1, 1);
    constexpr std::uint64_t kCalls = 3 * CallTimes::kCapacity;
    for (std::uint64_t i = 0; i < kCalls; ++i) {
        times->begin(10 + 10 * i, 2 + i);
        times->end(15 + 10 * i);
    }
    times->end(10 * kCalls + 20);
    CHECK(times->find(12, 14) == 0);
    CHECK(times->find(10 * kCalls + 2, 10 * kCalls + 4) == kCalls + 1);
    // The call around them is overwritten, so what ran between them has no call.
    CHECK(times->find(10 * kCalls + 6, 10 * kCalls + 8) == 0);
    times->begin(10 * kCalls + 30, 7);
    CHECK(times->find(10 * kCalls + 31, 10 * kCalls + 32) == 7);
}

TEST_CASE("Another thread searches while calls begin and end") {
    const std::unique_ptr<CallTimes> times = CallTimes::create(1);
    constexpr std::uint64_t kCalls = 3 * CallTimes::kCapacity;
    std::atomic<std::uint64_t> ended{0};
    std::thread writer([&] {
        for (std::uint64_t i = 1; i <= kCalls; ++i) {
            times->begin(10 * i, i);
            times->end(10 * i + 5);
            ended = i;
        }
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 1; i <= kCalls; i += 7) {
        while (ended < i)
            std::this_thread::yield();
        const std::uint64_t found = times->find(10 * i + 1, 10 * i + 4);
        wrong += found != i && found != 0 ? 1 : 0;
    }
    writer.join();
    CHECK(wrong == 0);
    CHECK(times->find(10 * kCalls + 1, 10 * kCalls + 4) == kCalls);
}

DeviceSpan span_at(std::uint64_t start) {
    DeviceSpan span;
    span.start_ns = start;
    return span;
}

TEST_CASE("Work finds its call whichever record comes first") {
    SpanMatcher matcher;
    matcher.submitted(5, 50);
    matcher.add(5, span_at(1));
    matcher.add(6, span_at(2));
    matcher.add(5, span_at(3));
    std::vector<DeviceSpan> found = matcher.take();
    REQUIRE(found.size() == 2);
    CHECK(found[0].seq == 50);
    CHECK(found[1].seq == 50);
    matcher.submitted(6, 60);
    found = matcher.take();
    REQUIRE(found.size() == 1);
    CHECK(found[0].seq == 60);
    CHECK(found[0].start_ns == 2);
    CHECK(matcher.take_all().empty());
}

TEST_CASE("Work without a call does not wait forever") {
    SpanMatcher matcher;
    matcher.add(7, span_at(1));
    for (unsigned i = 0; i < SpanMatcher::kMostBuffers; ++i)
        CHECK(matcher.take().empty());
    CHECK(matcher.take().size() == 1);
    for (std::size_t i = 0; i < 2 * SpanMatcher::kMostWaiting; ++i)
        matcher.add(8, span_at(i));
    CHECK(matcher.take().size() == SpanMatcher::kMostWaiting);
    CHECK(matcher.take_all().size() == SpanMatcher::kMostWaiting);
}

/// Records in one buffer, each in 256 bytes.
class Records {
  public:
    template <typename Record>
    void add(const Record& record) {
        bytes_.resize(bytes_.size() + kEach);
        std::memcpy(bytes_.data() + bytes_.size() - kEach, &record, sizeof record);
    }
    void deliver(TimelineOutput& output, std::size_t dropped = 0) {
        cupti::Api api;
        api.next_record = [](std::uint8_t* buffer, std::size_t used, cupti::Record** record) {
            std::uint8_t* const next =
                *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + kEach;
            *record = reinterpret_cast<cupti::Record*>(next);
            return next < buffer + used ? cupti::kSuccess : cupti::Status{12};
        };
        output.take(api, bytes_.data(), bytes_.size(), dropped);
        bytes_.clear();
    }

  private:
    static constexpr std::size_t kEach = 256;
    std::vector<std::uint8_t> bytes_;
};

template <typename Work>
Work work(cupti::Kind kind, std::uint64_t start, std::uint32_t correlation) {
    Work record{};
    record.kind = kind;
    record.start = start;
    record.end = start + 10;
    record.device = 1;
    record.stream = 13;
    record.correlation = correlation;
    return record;
}

cupti::Kernel kernel(const char* name, std::uint64_t start, std::uint32_t correlation) {
    auto record = work<cupti::Kernel>(cupti::Kind::kernel, start, correlation);
    record.name = name;
    return record;
}

std::vector<Json> lines_of(const std::string& path) {
    std::vector<Json> lines;
    std::istringstream text(test::read_text(path));
    for (std::string line; std::getline(text, line);)
        if (!line.empty()) lines.push_back(Json::parse(line));
    return lines;
}

TEST_CASE("Each kind of work becomes a line") {
    const test::TempFolder folder;
    auto output = std::move(TimelineOutput::create(folder.path().string(), "cupti").value());
    CallTimes* const times = output->add_thread(77, 1000);
    times->begin(100, 9);
    times->end(200);
    Records records;
    records.add(cupti::ApiCall{cupti::Kind::driver_api, 307, 110, 120, 1, 77, 3, 0});
    records.add(cupti::ApiCall{cupti::Kind::runtime_api, 41, 300, 320, 1, 77, 4, 0});
    records.add(cupti::ApiCall{cupti::Kind::driver_api, 307, 110, 120, 1, 78, 5, 0});
    records.add(kernel("_Z3addPf", 1000, 3));
    records.add(kernel("aoti_dbg_stats", 1010, 3));
    auto copy = work<cupti::Copy>(cupti::Kind::copy, 1020, 4);
    copy.bytes = 4096;
    records.add(copy);
    auto peer = work<cupti::CopyBetweenDevices>(cupti::Kind::copy_between_devices, 1030, 3);
    peer.bytes = 8;
    records.add(peer);
    auto set = work<cupti::Set>(cupti::Kind::set, 1040, 5);
    set.bytes = 16;
    records.add(set);
    cupti::Kernel running = kernel("running", 1050, 3);
    running.end = 0;
    records.add(running);
    records.add(cupti::Record{static_cast<cupti::Kind>(99)});
    records.deliver(*output, 2);
    output->close();
    records.add(kernel("after the end", 2000, 3));
    records.deliver(*output);
    CHECK(output->counts().spans == 5);
    CHECK(output->counts().lost == 3);

    const std::vector<Json> lines = lines_of(output->path());
    REQUIRE(lines.size() == 7);
    CHECK(lines[0]["pid"] == getpid());
    std::vector<Json> spans(lines.begin() + 1, lines.end() - 1);
    std::sort(spans.begin(), spans.end(),
              [](const Json& one, const Json& other) { return one["start_ns"] < other["start_ns"]; });
    CHECK(spans[0] ==
          Json::parse(R"json({"event": "span", "seq": 9, "kernel": "add(float*)", "kind": "kernel",
        "start_ns": 1000, "end_ns": 1010, "device": 1, "stream": "0xd"
})json"));
    CHECK(spans[1]["kernel"] == "aoti_dbg_stats");
    CHECK(spans[1]["seq"] == 0);
    CHECK(spans[2] == Json::parse(R"json({"event": "span", "seq": 0, "kind": "copy", "start_ns": 1020,
        "end_ns": 1030, "device": 1, "stream": "0xd", "bytes": 4096})json"));
    CHECK(spans[3]["kind"] == "copy");
    CHECK(spans[3]["bytes"] == 8);
    CHECK(spans[4]["kind"] == "set");
    CHECK(spans[4]["seq"] == 0);
    CHECK(lines.back() == Json::parse(R"({"event": "coverage", "counts": {"spans": 5, "lost": 3}})"));
}

TEST_CASE("Only a CUPTI that was tried does without the functions of the runtime") {
    cupti::Api api;
    CHECK(!cupti::has_common_correlation(api));
    api.version = [](std::uint32_t* version) {
        *version = 26;  // CUDA 12.8
        return cupti::kSuccess;
    };
    CHECK(!cupti::has_common_correlation(api));
    api.version = [](std::uint32_t* version) {
        *version = 130001;
        return cupti::kSuccess;
    };
    CHECK(cupti::has_common_correlation(api));
}

TEST_CASE("A time of the wall clock has its ticks, also while the clock changes its speed") {
    TickClock clock;
    CHECK(clock.ticks_at(5) == 5);
    constexpr std::uint64_t kMs = 1'000'000;
    clock.note({1000 * kMs, 7000 * kMs});
    clock.note({1040 * kMs, 7020 * kMs});
    clock.note({1070 * kMs, 7040 * kMs});
    CHECK(clock.ticks_at(7000 * kMs) == 1000 * kMs);
    CHECK(clock.ticks_at(7005 * kMs) == 1010 * kMs);
    CHECK(clock.ticks_at(7020 * kMs) == 1040 * kMs);
    CHECK(clock.ticks_at(7030 * kMs) == 1055 * kMs);
    // Around the moments, their speed holds.
    CHECK(clock.ticks_at(7042 * kMs) == 1073 * kMs);
    CHECK(clock.ticks_at(6995 * kMs) == 990 * kMs);
    // The clock was set back.
    clock.note({1080 * kMs, 6000 * kMs});
    CHECK(clock.ticks_at(5990 * kMs) == 1065 * kMs);
}

TEST_CASE("Moments close together do not replace old ones, and old ones make room") {
    TickClock clock;
    constexpr std::uint64_t kMs = 1'000'000;
    clock.note({0, 1000 * kMs});
    clock.note({100 * kMs, 1050 * kMs});
    for (std::uint64_t i = 0; i < 5000; ++i)
        clock.note({100 * kMs + i * 1000, 1050 * kMs + i * 1000});
    CHECK(clock.ticks_at(1025 * kMs) == 50 * kMs);
    for (std::uint64_t i = 1; i < 5000; ++i)
        clock.note({200 * kMs + i * 30 * kMs, 1150 * kMs + i * 10 * kMs});
    CHECK(clock.ticks_at(1150 * kMs + 4990 * 10 * kMs + kMs) == 200 * kMs + 4990 * 30 * kMs + 3 * kMs);
}

TEST_CASE("The clocks of this machine agree between two moments") {
    TickClock clock;
    clock.note(TickClock::now());
    usleep(20'000);
    const TickClock::Moment middle = TickClock::now();
    usleep(20'000);
    clock.note(TickClock::now());
    const std::uint64_t found = clock.ticks_at(middle.unix_ns);
    const std::uint64_t apart = found > middle.ticks ? found - middle.ticks : middle.ticks - found;
    // A machine may interrupt all readings of a moment, but not for long.
    CHECK(apart < 10'000'000);
}

TEST_CASE("No file is written over") {
    const test::TempFolder folder;
    const auto first = std::move(TimelineOutput::create(folder.path().string(), "cupti").value());
    const auto second = std::move(TimelineOutput::create(folder.path().string(), "cupti").value());
    CHECK(std::string(first->path()) == (folder.path() / "timeline.jsonl").string());
    CHECK(std::string(second->path()) ==
          (folder.path() / ("timeline-" + std::to_string(getpid()) + ".jsonl")).string());
    CHECK(!TimelineOutput::create((folder.path() / "absent").string(), "cupti").ok());
}

TEST_CASE("A full disk loses spans and counts them, and whole lines stay") {
    const test::TempFolder folder;
    const int status = test::in_child([&] {
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_FSIZE, &limit);
        const auto output = std::move(TimelineOutput::create(folder.path().string(), "cupti").value());
        Records records;
        for (int i = 0; i < 2000; ++i) {
            records.add(kernel("name", 1000, 0));
            records.deliver(*output);
        }
        output->close();
        const TimelineCounts counts = output->counts();
        ::_exit(counts.spans > 100 && counts.lost > 100 && counts.spans + counts.lost == 2000 ? 0 : 1);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(lines_of((folder.path() / "timeline.jsonl").string()).size() > 100);
}

TEST_CASE("A thread takes over the log of one that ended long ago") {
    const test::TempFolder folder;
    const auto output = std::move(TimelineOutput::create(folder.path().string(), "cupti").value());
    constexpr std::uint64_t kSecond = 1'000'000'000;
    CallTimes* const first = output->add_thread(1, 10 * kSecond);
    CallTimes* const second = output->add_thread(2, 10 * kSecond);
    CHECK(first != second);
    first->retire(11 * kSecond);
    CHECK(output->add_thread(3, 12 * kSecond) != first);
    CHECK(output->add_thread(4, 14 * kSecond) == first);
    CHECK(first->thread() == 4);
}

}  // namespace
}  // namespace aoti_dbg::timeline_test
