// A hang as a flight ring records it: the calls that do not return, and what they may wait for.
#include "serializer/hang.hpp"

#include <random>

#include "tests/support/catch.hpp"
#include "tests/support/ring_writer.hpp"

namespace aoti_dbg::test::hang_test {
namespace {

using ring::CallKind;
using ring::Record;

// Names by their ids.
enum Id : std::uint32_t { kKernel, kOther, kStreamWait, kContextWait, kEventWait, kOp, kRun, kFree };
const std::vector<std::string> kNames = {"kernel",           "other_kernel",       "cuStreamSynchronize",
                                         "cuCtxSynchronize", "cuEventSynchronize", "aoti_torch_cuda_mm_out",
                                         "run of a model",   "cuMemFree"};
constexpr std::uint64_t kStream = 0x70;
constexpr std::uint64_t kSecond = 1'000'000'000;

Record launch(std::uint64_t seq, std::uint64_t stream = kStream, std::uint32_t name = kKernel) {
    Record result = record(seq, name);
    result.stream = stream;
    return result;
}

Record wait(std::uint64_t seq, std::uint32_t name, std::uint64_t stream, bool is_open) {
    Record result = is_open ? open_record(seq, name) : record(seq, name);
    result.kind = CallKind::wait;
    result.stream = stream;
    result.call = ring::kNoCall;
    return result;
}

ring::Contents contents_of(const std::vector<std::vector<Record>>& threads) {
    std::string file = file_start() + names_block(kNames);
    std::uint32_t tid = 17;
    for (const std::vector<Record>& records : threads)
        file += thread_block(tid++, records);
    Result<ring::Contents> contents = ring::parse_flight_ring(file);
    REQUIRE(contents.ok());
    return contents.value();
}

Hang hang_of(const ring::Contents& contents) {
    Hang hang;
    hang.calls = open_calls(contents, file_header().start_unix_ns + 5 * kSecond);
    conclude_hang(contents, hang);
    return hang;
}

std::vector<std::uint64_t> sequences(const std::vector<CrashCall>& calls) {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(calls.size());
    for (const CrashCall& call : calls)
        numbers.push_back(call.sequence);
    return numbers;
}

using Numbers = std::vector<std::uint64_t>;

Numbers unended(const std::vector<std::vector<Record>>& threads) {
    return sequences(hang_of(contents_of(threads)).unended);
}

TEST_CASE("A wait for a stream waits for its launches that no wait has covered") {
    const Record stuck = wait(9, kStreamWait, kStream, true);
    CHECK(unended({{launch(1), launch(2), stuck}}) == Numbers{1, 2});
    // A wait that returned covers everything before it, from any thread.
    CHECK(unended({{launch(1), wait(2, kStreamWait, kStream, false), launch(3), stuck}}) == Numbers{3});
    CHECK(unended({{launch(1), launch(3), stuck}, {wait(2, kContextWait, 0, false)}}) == Numbers{3});
    // It covers its own stream only.
    CHECK(unended({{launch(1), wait(2, kStreamWait, 0x80, false), stuck}}) == Numbers{1});
    CHECK(unended({{launch(1, 0x80), launch(2), stuck}}) == Numbers{2});
    // If that stream has no launch left, the wait may be for another stream's.
    CHECK(unended({{launch(1, 0x80), stuck}}) == Numbers{1});
    CHECK(unended({{wait(2, kStreamWait, kStream, false), stuck}}).empty());
}

TEST_CASE("A wait that failed or has not returned itself covers nothing") {
    Record failed = wait(2, kStreamWait, kStream, false);
    failed.result = 700;
    CHECK(unended({{launch(1), failed, launch(3), wait(9, kStreamWait, kStream, true)}}) == Numbers{1, 3});
    Record refused = launch(1);
    refused.result = 1;
    CHECK(unended({{refused, launch(2), wait(9, kStreamWait, kStream, true)}}) == Numbers{2});
}

TEST_CASE("A wait for an event covers everything before its recording, and no more") {
    Record event = wait(6, kEventWait, kStream, false);
    event.launch = 4;  // launch 2 precedes it
    CHECK(unended({{launch(1), launch(2), launch(3), event, wait(9, kStreamWait, kStream, true)}}) ==
          Numbers{3});
    event.launch = ~0U;  // recorded at an unknown place
    CHECK(unended({{launch(1), event, wait(9, kStreamWait, kStream, true)}}) == Numbers{1});
}

TEST_CASE("The per-thread stream is another one in each thread") {
    constexpr std::uint64_t kPerThread = 2;
    const Record done = wait(3, kStreamWait, kPerThread, false);
    CHECK(unended({{launch(1, kPerThread), wait(9, kStreamWait, kPerThread, true)},
                   {launch(2, kPerThread), done}}) == Numbers{1});
}

TEST_CASE("A wait for the context waits for all streams, and a computing op for none") {
    CHECK(unended({{launch(1), launch(2, 0x80), wait(9, kContextWait, 0, true)}}) == Numbers{1, 2});
    Record op = open_record(9, kOp);
    op.kind = CallKind::extern_op;
    const Hang hang = hang_of(contents_of({{launch(1), op}}));
    CHECK(hang.unended.empty());
    CHECK(hang.calls.at(0).call.name == "aoti_torch_cuda_mm_out");
}

Record in_context(std::uint8_t context, Record call) {
    call.context = context;
    return call;
}

TEST_CASE("A wait for a context waits for its launches only, and covers no others") {
    const Record first = in_context(1, launch(1));
    const Record second = in_context(2, launch(2, 0x80));
    CHECK(unended({{first, second, in_context(1, wait(9, kContextWait, 0, true))}}) == Numbers{1});
    CHECK(unended({{first, second, in_context(2, wait(9, kContextWait, 0, true))}}) == Numbers{2});
    CHECK(unended({{first, second, wait(9, kContextWait, 0, true)}}) == Numbers{1, 2});
    CHECK(unended({{first, in_context(2, wait(3, kContextWait, 0, false)),
                    in_context(1, wait(9, kStreamWait, kStream, true))}}) == Numbers{1});
    CHECK(unended({{first, in_context(1, wait(3, kContextWait, 0, false)),
                    in_context(1, wait(9, kStreamWait, kStream, true))}})
              .empty());
}

TEST_CASE("A free waits for every device, and a launch without a context may be on any") {
    const Record first = in_context(1, launch(1));
    const Record second = launch(2, 0x80);
    CHECK(unended({{first, in_context(2, second), wait(9, kFree, 0, true)}}) == Numbers{1, 2});
    CHECK(unended({{first, second, in_context(1, wait(9, kContextWait, 0, true))}}) == Numbers{1, 2});
}

TEST_CASE("An event on the legacy stream belongs to the context that recorded it") {
    const Record first = in_context(1, launch(1, 0));
    const Record second = in_context(2, launch(2, 0));
    CHECK(unended({{first, second, in_context(2, wait(9, kEventWait, 0, true))}}) == Numbers{2});
    Record done = in_context(2, wait(4, kEventWait, 0, false));
    done.launch = 2;
    CHECK(unended({{first, second, done, in_context(1, wait(9, kStreamWait, 0, true))}}) == Numbers{1});
}

TEST_CASE("The legacy and per-thread streams differ between contexts, and a created stream does not") {
    for (const std::uint64_t stream : {0, 1, 2}) {
        CAPTURE(stream);
        const Record first = in_context(1, launch(1, stream));
        const Record second = in_context(2, launch(2, stream));
        CHECK(unended({{first, second, in_context(2, wait(9, kStreamWait, stream, true))}}) == Numbers{2});
        CHECK(unended({{first, second, in_context(2, wait(3, kStreamWait, stream, false)),
                        in_context(1, wait(9, kStreamWait, stream, true))}}) == Numbers{1});
        // This query does not say in which context.
        CHECK(unended({{first, second, wait(9, kStreamWait, stream, true)}}) == Numbers{1, 2});
    }
    // The thread's context says nothing about a stream that it created elsewhere.
    CHECK(unended({{in_context(1, launch(1)), in_context(2, wait(9, kStreamWait, kStream, true))}}) ==
          Numbers{1});
    CHECK(unended({{in_context(1, launch(1)), in_context(2, wait(2, kStreamWait, kStream, false)),
                    in_context(1, wait(9, kStreamWait, kStream, true))}})
              .empty());
}

TEST_CASE("The longest call comes first, with the op around it and the time since the last return") {
    Record run = open_record(1, kRun);
    run.kind = CallKind::run;
    Record op = open_record(2, kOp);
    op.kind = CallKind::extern_op;
    op.back = 1;
    Record stuck = wait(4, kStreamWait, kStream, true);
    stuck.back = 2;
    const Hang hang = hang_of(contents_of(
        {{launch(30), wait(31, kContextWait, 0, true)}, {run, op, launch(3), stuck}, {launch(5)}}));
    REQUIRE(hang.calls.size() == 2);
    CHECK(hang.calls[0].call.sequence == 4);
    CHECK(hang.calls[0].call.inside == "aoti_torch_cuda_mm_out (run 0, call 2)");
    CHECK(hang.calls[0].call.thread == 18);
    // It started at tick 1400, 800 ns after the start.
    CHECK(hang.calls[0].nanoseconds == 5 * kSecond - 800);
    CHECK(hang.calls[1].call.thread == 17);
    CHECK(hang.unended.front().is_likely);
    CHECK(seconds_text(hang.calls[0].nanoseconds) == "5.0 s");
    CHECK(stuck_text(hang.calls[0]) == "cuStreamSynchronize (run 0) on stream 0x70, for 5.0 s, in thread 18");
}

TEST_CASE("A ring with a single timestamp gives no durations, and neither do calls from the future") {
    ring::FileHeader header = file_header();
    header.anchor_ticks = header.start_ticks;
    const std::string file =
        file_start(header) + names_block(kNames) + thread_block(17, {wait(1, kStreamWait, kStream, true)});
    const ring::Contents contents = ring::parse_flight_ring(file).value();
    CHECK(open_calls(contents, header.start_unix_ns + kSecond).at(0).nanoseconds == 0);
    const ring::Contents later = contents_of({{wait(1000, kStreamWait, kStream, true)}});
    CHECK(open_calls(later, header.start_unix_ns).at(0).nanoseconds == 0);
}

TEST_CASE("A long list is cut, with the full count") {
    std::vector<Record> records;
    for (std::uint64_t seq = 1; seq <= 40; ++seq)
        records.push_back(launch(seq));
    records.push_back(wait(41, kStreamWait, kStream, true));
    const Hang hang = hang_of(contents_of({records}));
    CHECK(hang.unended.size() == kMostUnended);
    CHECK(hang.unended_count == 40);
    CHECK(
        unended_text(hang) ==
        "; it likely waits for kernel (run 0, call 1), the oldest of 40 launches not known to have finished");
}

TEST_CASE("The file lies beside the ring, under a name of its own") {
    CHECK(hang_path("/out/flight.ring") == "/out/hang.json");
    CHECK(hang_path("/flight.ring/flight-17.ring") == "/flight.ring/hang-17.json");
    CHECK(hang_path("flight.ring") == "hang.json");
    CHECK(hang_path("/out/other") == "/out/other.json");
}

Hang whole_hang() {
    Hang hang = hang_of(contents_of({{launch(1), launch(2), wait(3, kStreamWait, kStream, true)}}));
    hang.pid = 4242;
    hang.time_ns = 12345;
    hang.calls[0].asks = true;
    hang.calls[0].place = {"a \"name\"", "sleeping",       "futex_do_wait",
                           "202",        "libc.so.6+0x10", {"/opt/a+0x1", "/opt/b+0x2"}};
    return hang;
}

/// Two threads that launch on one stream and on another, with marks 1, 2 and 3, and the number of finished
/// launches for each.
ring::Contents marked_contents(std::uint64_t first, std::uint64_t second, std::uint64_t third,
                               const std::vector<Record>& more = {}, std::int32_t error = 0) {
    const auto marked = [](Record launched, std::uint16_t mark) {
        launched.mark = mark;
        return launched;
    };
    std::vector<Record> one = {marked(launch(1), 1), marked(launch(3, 0x80, kOther), 2),
                               marked(launch(4), 1)};
    one.insert(one.end(), more.begin(), more.end());
    ring::MarkersHeader header{};
    header.error = error;
    const std::string file =
        file_start() + names_block(kNames) +
        markers_block(header,
                      {{kStream, first, 4, 17, 0}, {0x80, second, 3, 17, 0}, {kStream, third, 2, 18, 0}}) +
        thread_block(17, one) + thread_block(18, {marked(launch(2), 3)});
    Result<ring::Contents> contents = ring::parse_flight_ring(file);
    REQUIRE(contents.ok());
    return contents.value();
}

TEST_CASE("An unfinished launch that no call waits for is found by its marker") {
    const auto sequence_of = [](const ring::Contents& contents, std::uint32_t mark, std::uint64_t completed) {
        const std::optional<StuckCall> stuck = unawaited_launch(contents, mark, completed);
        return stuck ? stuck->call.sequence : 0;
    };
    CHECK(sequence_of(marked_contents(0, 0, 0), 1, 0) == 1);
    CHECK(sequence_of(marked_contents(1, 0, 0), 1, 1) == 4);
    CHECK(sequence_of(marked_contents(0, 0, 0), 1, 1) == 4);  // the first ended with its context
    CHECK(sequence_of(marked_contents(1, 0, 0), 1, 0) == 0);  // finished since the last check
    CHECK(sequence_of(marked_contents(4, 0, 0), 1, 4) == 0);
    CHECK(sequence_of(marked_contents(4, 0, 0), 2, 0) == 3);
    CHECK(sequence_of(marked_contents(4, 0, 0), 3, 0) == 2);
    CHECK(sequence_of(marked_contents(4, 0, 0), 4, 0) == 0);

    // A wait has covered the other stream, so it does not count, and finished launches do not either.
    const ring::Contents contents = marked_contents(1, 3, 2, {wait(9, kContextWait, 0, false)});
    Hang hang;
    hang.calls = {unawaited_launch(contents, 1, 1).value()};
    hang.calls.front().nanoseconds = 3 * kSecond;
    conclude_hang(contents, hang);
    CHECK(hang.by_markers);
    CHECK(sequences(hang.unended) == Numbers{4});
    CHECK(stuck_text(hang.calls.front()) ==
          "kernel (run 0, call 4) on stream 0x70, unfinished for 3.0 s, launched by thread 17");
    CHECK(unended_text(hang) == ", according to completion markers, and no call waits for it");
    std::string text;
    append_hang_json(hang, text);
    CHECK(read_hang(text).value().calls.at(0).is_without_wait);

    // Only another thread's later launch there is behind it, not the earlier ones.
    const ring::Contents both = marked_contents(1, 0, 0);
    hang.calls = {unawaited_launch(both, 3, 0).value()};
    conclude_hang(both, hang);
    CHECK(sequences(hang.unended) == Numbers{2, 4});
    CHECK(unended_text(hang) ==
          ", according to completion markers, and no call waits for it; 1 launch is queued behind it");
}

TEST_CASE("A launch that the ring has lost is reported without its name") {
    ring::MarkersHeader header{};
    const std::string file =
        file_start() + names_block(kNames) + markers_block(header, {{kStream, 4, 90, 17, 0}}) +
        thread_block(17, {wait(91, kStreamWait, 0x80, false), wait(92, kStreamWait, 0x80, false)}, 2);
    const Result<ring::Contents> contents = ring::parse_flight_ring(file);
    REQUIRE(contents.ok());
    Hang hang;
    hang.calls = {unawaited_launch(contents.value(), 1, 4).value()};
    conclude_hang(contents.value(), hang);
    CHECK(stuck_text(hang.calls.front()) ==
          "an unknown launch (overwritten in the flight ring) on stream 0x70, unfinished for 0.0 s, "
          "launched by thread 17");
    CHECK(unended_text(hang) == ", according to completion markers, and no call waits for it");
    CHECK_FALSE(is_over(contents.value(), hang.calls.front()));
}

TEST_CASE("A launch without a wait is over once it has finished or its context has failed") {
    const StuckCall stuck = unawaited_launch(marked_contents(0, 0, 0), 1, 0).value();
    CHECK_FALSE(is_over(marked_contents(0, 3, 2), stuck));
    CHECK(is_over(marked_contents(1, 0, 0), stuck));
    CHECK(is_over(marked_contents(0, 0, 0, {}, 700), stuck));
}

TEST_CASE("A thread inside a waiting call is seen, whatever it waits for") {
    CHECK(does_any_wait(marked_contents(0, 0, 0, {wait(9, kStreamWait, 0x80, true)})));
    CHECK(does_any_wait(marked_contents(0, 0, 0, {open_record(9, kKernel)})));
    CHECK_FALSE(does_any_wait(marked_contents(0, 0, 0, {wait(9, kStreamWait, 0x80, false)})));
    Record op = open_record(9, kOp);
    op.kind = CallKind::extern_op;
    CHECK_FALSE(does_any_wait(marked_contents(0, 0, 0, {op})));
}

TEST_CASE("A written hang is read back unchanged") {
    const Hang hang = whole_hang();
    std::string text;
    append_hang_json(hang, text);
    const Result<Hang> read = read_hang(text);
    REQUIRE(read.ok());
    std::string again;
    append_hang_json(read.value(), again);
    CHECK(again == text);
    CHECK(read.value().calls.at(0).place.name == "a \"name\"");
    CHECK(read.value().calls.at(0).call.kind == CallKind::wait);
    CHECK(read.value().calls.at(0).place.callers.size() == 2);
    CHECK(sequences(read.value().unended) == Numbers{1, 2});
}

TEST_CASE("Other files are refused, and arbitrary bytes do no harm") {
    for (const char* text : {"", "{}", "nonsense", R"({"format":"aoti-dbg-hang","version":2})",
                             R"({"format":"aoti-dbg-hang","version":1,"calls":[]})"})
        CHECK_FALSE(read_hang(text).ok());
    std::string text;
    append_hang_json(whole_hang(), text);
    std::mt19937_64 random(7);
    std::size_t readable = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string damaged = text;
        for (std::uint64_t n = random() % 4; n != 0; --n)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        damaged.resize(random() % 8 == 0 ? random() % damaged.size() : damaged.size());
        const Result<Hang> read = read_hang(damaged);
        if (!read.ok()) continue;
        ++readable;
        CHECK(read.value().unended.size() <= kMostUnended);
    }
    CHECK(readable > 1000);
}

}  // namespace
}  // namespace aoti_dbg::test::hang_test
