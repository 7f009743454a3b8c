// What completion markers show: the finished launches, and the candidates for the faulted one. A case with
// less evidence than it seems must come out as uncertain.
#include "serializer/ended_launches.hpp"

#include <algorithm>
#include <random>

#include "tests/support/catch.hpp"
#include "tests/support/ring_writer.hpp"

namespace aoti_dbg::test::ended_launches_test {
namespace {

using ring::MarkedStream;
using ring::Record;

constexpr std::uint64_t kStream = 0x70;
constexpr std::uint64_t kOther = 0x80;
using Numbers = std::vector<std::uint64_t>;

/// A launch marked at `mark`. It lasts from its seq to its seq + 1/2, in the time of a hand-written ring.
Record launch(std::uint64_t seq, std::uint16_t mark, std::uint64_t stream = kStream) {
    Record result = record(seq, 0);
    result.stream = stream;
    result.mark = mark;
    return result;
}

/// The same launch, which returned only after the call with that seq had started.
Record until(Record launched, std::uint64_t seq) {
    launched.end_ticks = 1000 + seq * 100 + 1;
    return launched;
}

ring::MarkersHeader failed(std::uint32_t flags = 0) {
    ring::MarkersHeader header{};
    header.error = 700;
    header.flags = flags;
    header.looked_ticks = 1;
    return header;
}

/// A hand-written ring: threads 17, 18, ... and one context.
ring::Contents contents_of(const std::vector<std::vector<Record>>& threads, const ring::MarkersHeader& header,
                           const std::vector<MarkedStream>& streams, std::uint32_t capacity = 64) {
    std::string file = file_start() + names_block({"kernel"}) + markers_block(header, streams);
    std::uint32_t tid = 17;
    for (const std::vector<Record>& records : threads)
        file += thread_block(tid++, records, capacity);
    Result<ring::Contents> contents = ring::parse_flight_ring(file);
    REQUIRE(contents.ok());
    return contents.value();
}

Numbers sequences(const std::vector<ring::Call>& calls) {
    Numbers numbers;
    for (const ring::Call& call : calls)
        numbers.push_back(call.record->seq);
    return numbers;
}

struct Suspects {
    Numbers launches;
    bool is_certain;
    bool operator==(const Suspects&) const = default;
};

Suspects suspects_of(const ring::Contents& contents) {
    const FaultSuspects suspects = fault_suspects(contents);
    return {sequences(suspects.launches), suspects.is_certain};
}

TEST_CASE("On one stream the first unfinished launch is the faulted one") {
    const std::vector<Record> launches = {launch(1, 1), launch(2, 1), launch(3, 1), launch(4, 1)};
    for (std::uint64_t completed = 0; completed < 4; ++completed)
        CHECK(suspects_of(contents_of({launches}, failed(), {{kStream, completed, 4, 17, 0}})) ==
              Suspects{{completed + 1}, true});
    // All have finished, so it was none of these.
    CHECK(suspects_of(contents_of({launches}, failed(), {{kStream, 4, 4, 17, 0}})) == Suspects{{}, false});
    // A context that has not failed shows no fault.
    CHECK(suspects_of(contents_of({launches}, {}, {{kStream, 2, 4, 17, 0}})) == Suspects{{}, false});
}

TEST_CASE("On several streams the first unfinished launch of each is a candidate, and no other") {
    const std::vector<Record> launches = {launch(1, 1), launch(2, 2, kOther), launch(3, 1),
                                          launch(4, 2, kOther)};
    CHECK(suspects_of(contents_of({launches}, failed(), {{kStream, 1, 3, 17, 0}, {kOther, 0, 4, 17, 0}})) ==
          Suspects{{2, 3}, false});
    CHECK(suspects_of(contents_of({launches}, failed(), {{kStream, 1, 3, 17, 0}, {kOther, 4, 4, 17, 0}})) ==
          Suspects{{3}, true});
}

TEST_CASE("Of threads on one stream, the call that returned before the other began was first") {
    const std::vector<MarkedStream> streams = {{kStream, 0, 3, 17, 0}, {kStream, 0, 4, 18, 0}};
    CHECK(suspects_of(contents_of({{launch(1, 1), launch(3, 1)}, {launch(2, 2), launch(4, 2)}}, failed(),
                                  streams)) == Suspects{{1}, true});
    CHECK(suspects_of(contents_of({{until(launch(1, 1), 2), launch(3, 1)}, {launch(2, 2), launch(4, 2)}},
                                  failed(), streams)) == Suspects{{1, 2}, false});
    // Each thread has a stream of its own behind that handle.
    constexpr std::uint64_t kPerThread = 2;
    CHECK(suspects_of(contents_of({{launch(1, 1, kPerThread)}, {launch(2, 2, kPerThread)}}, failed(),
                                  {{kPerThread, 0, 1, 17, 0}, {kPerThread, 0, 2, 18, 0}})) ==
          Suspects{{1, 2}, false});
}

TEST_CASE("Launches that never reached the device do not count: refused, captured or unwound") {
    Record refused = launch(1, 0);
    refused.result = 1;
    Record captured = launch(2, 0);
    captured.flags |= ring::kCaptured;
    Record left = launch(3, 0);
    left.flags = ring::kUnwoundByException;
    CHECK(suspects_of(contents_of({{refused, captured, left, launch(4, 1), launch(5, 1)}}, failed(),
                                  {{kStream, 3, 5, 17, 0}})) == Suspects{{4}, true});
}

TEST_CASE("Weaker evidence is reported as uncertain") {
    const std::vector<Record> launches = {launch(1, 1), launch(2, 1), launch(3, 1)};
    const std::vector<MarkedStream> streams = {{kStream, 1, 3, 17, 0}};
    for (const std::uint32_t flag : {ring::kNotAll, ring::kOwnKernels, ring::kMayRunOn})
        CHECK(suspects_of(contents_of({launches}, failed(flag), streams)) == Suspects{{2}, false});
    // Another thread's launch was in progress.
    Record open = open_record(9, 0);
    CHECK(suspects_of(contents_of({launches, {open}}, failed(), streams)) == Suspects{{2}, false});
    // This thread's own launch had started and was marked.
    open.mark = 1;
    open.stream = kStream;
    std::vector<Record> with_open = launches;
    with_open.push_back(open);
    CHECK(suspects_of(contents_of({with_open}, failed(), {{kStream, 1, 9, 17, 0}})) == Suspects{{2}, true});
    // The ring has lost the first launches: they were overwritten, or their thread is gone.
    const std::vector<Record> many = {launch(1, 1), launch(2, 1), launch(3, 1),
                                      launch(4, 1), launch(5, 1), launch(6, 1)};
    CHECK(suspects_of(contents_of({many}, failed(), {{kStream, 1, 6, 17, 0}}, 4)) == Suspects{{3}, false});
    CHECK(suspects_of(contents_of({many}, failed(), {{kStream, 2, 6, 17, 0}}, 4)) == Suspects{{3}, true});
    CHECK(suspects_of(contents_of({launches}, failed(), {{kStream, 1, 3, 17, 0}, {kOther, 4, 8, 99, 0}})) ==
          Suspects{{2}, false});
}

TEST_CASE("Of two contexts only the failed one counts, even if their streams have one handle") {
    const std::string file = file_start() + names_block({"kernel"}) + markers_block({}, {{0, 0, 1, 17, 0}}) +
                             markers_block(failed(), {{0, 0, 2, 17, 0}}, 513) +
                             thread_block(17, {launch(1, 1, 0), launch(2, 513, 0)});
    CHECK(suspects_of(ring::parse_flight_ring(file).value()) == Suspects{{2}, true});
}

TEST_CASE("Launches have finished if a marker or a wait shows it") {
    Record waited = record(3, 0);
    waited.kind = ring::CallKind::wait;
    waited.stream = kOther;
    const std::string file = file_start() + names_block({"cuStreamSynchronize"}) +
                             markers_block({}, {{kStream, 4, 6, 17, 0}}) +
                             thread_block(17, {launch(1, 1), launch(2, 0, kOther), waited, launch(4, 1),
                                               launch(5, 0, kOther), launch(6, 1)});
    CHECK(sequences(unended_launches(ring::parse_flight_ring(file).value())) == Numbers{5, 6});
}

TEST_CASE("Beside a fault the nearest launches come first, without finished ones and predecessors") {
    const auto beside = [](const std::vector<Record>& records, std::uint64_t seq) {
        const ring::Contents contents = contents_of({records}, {}, {});
        const std::vector<ring::Call> calls = ring::merged_calls(contents);
        const auto faulted = std::find_if(calls.begin(), calls.end(),
                                          [seq](const ring::Call& call) { return call.record->seq == seq; });
        REQUIRE(faulted != calls.end());
        return sequences(unended_beside(contents, *faulted));
    };
    CHECK(beside({launch(1, 0), launch(2, 0, kOther), launch(3, 0), launch(4, 0), launch(5, 0, kOther)}, 3) ==
          Numbers{2, 4, 5});
    Record refused = launch(4, 0);
    refused.result = 700;
    CHECK(beside({launch(1, 0, kOther), launch(2, 0, kOther), launch(3, 0), refused}, 3) == Numbers{2, 1});
    // A wait behind a fault may still return success.
    const auto waited = [](std::uint64_t seq) {
        Record wait = record(seq, 1);
        wait.kind = ring::CallKind::wait;
        wait.stream = kOther;
        return wait;
    };
    const std::vector<Record> records = {launch(1, 0, kOther), waited(2), launch(3, 0, kOther), launch(4, 0),
                                         launch(5, 0, kOther), waited(6)};
    const std::string names = names_block({"kernel", "cuStreamSynchronize"});
    const ring::Contents contents =
        ring::parse_flight_ring(file_start() + names + thread_block(17, records)).value();
    CHECK(sequences(unended_beside(contents, ring::merged_calls(contents)[3])) == Numbers{3, 5});
}

TEST_CASE("Whatever the launch order of threads, the faulted launch is among those named") {
    std::mt19937_64 random(11);
    for (int round = 0; round < 3000; ++round) {
        // The launches in the device's order. Calls of different threads overlap.
        std::vector<std::vector<Record>> threads(3);
        std::vector<std::pair<std::uint64_t, std::uint64_t>> order;  // stream and seq
        for (std::uint64_t seq = 1; seq <= 12;) {
            const std::size_t both = random() % 2 + 1;  // started at once, submitted in any order
            std::vector<std::pair<std::uint64_t, std::uint64_t>> at_once;
            const std::size_t first = random() % 3;
            for (std::size_t i = 0; i < both; ++i, ++seq) {
                const std::size_t thread = (first + i) % 3;
                const std::uint64_t stream = kStream + random() % 2;
                const auto mark = static_cast<std::uint16_t>(1 + 2 * thread + (stream - kStream));
                threads[thread].push_back(until(launch(seq, mark, stream), seq + both - 1 - i));
                at_once.emplace_back(stream, seq);
            }
            std::shuffle(at_once.begin(), at_once.end(), random);
            order.insert(order.end(), at_once.begin(), at_once.end());
        }
        // Streams continue independently until one faults.
        std::vector<std::uint64_t> ended[2];
        std::vector<std::uint64_t> queued[2];
        for (const auto& [stream, seq] : order)
            queued[stream - kStream].push_back(seq);
        const std::size_t faulty = queued[0].empty() ? 1 : queued[1].empty() ? 0 : random() % 2;
        std::uint64_t fault = 0;
        for (std::size_t i = 0; i < 2; ++i) {
            const std::size_t most = queued[i].size() - (i == faulty ? 1 : 0);
            const std::size_t count = random() % (most + 1);
            ended[i].assign(queued[i].begin(), queued[i].begin() + static_cast<std::ptrdiff_t>(count));
            if (i == faulty) fault = queued[i][count];
        }
        std::vector<MarkedStream> streams(6);
        for (std::size_t place = 0; place < 6; ++place) {
            MarkedStream& one = streams[place];
            one.stream = kStream + place % 2;
            one.tid = static_cast<std::uint32_t>(17 + place / 2);
            for (const Record& record : threads[place / 2]) {
                if (record.mark != place + 1) continue;
                one.last = record.seq;
                const auto& done = ended[place % 2];
                if (std::find(done.begin(), done.end(), record.seq) != done.end()) one.completed = record.seq;
            }
        }
        const Suspects result = suspects_of(contents_of(threads, failed(), streams));
        CAPTURE(round, fault, result.launches);
        CHECK(std::count(result.launches.begin(), result.launches.end(), fault) == 1);
        CHECK((!result.is_certain || result.launches == Numbers{fault}));
    }
}

}  // namespace
}  // namespace aoti_dbg::test::ended_launches_test
