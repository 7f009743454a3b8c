// What the command adds to a report from the map of allocations. Only the reported process's map counts, and
// only facts about the launch and the failed call.
#include "triage/gather/memory_facts.hpp"

#include <cstring>

#include "serializer/tensor_map_format.hpp"
#include "tests/support/allocation_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/ring_writer.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/crash_report_fixture.hpp"
#include "triage/gather/recorded_calls.hpp"
#include "triage/judge/fault_words.hpp"

namespace aoti_dbg::test::memory_facts_test {
namespace {

/// A process with this map beside its ring, and one thread, 7, with one call.
struct Recorded {
    explicit Recorded(const std::string& map) {
        process.folder = folder.path();
        process.ring = folder.path() / "flight.ring";
        process.pid = 4242;
        if (!map.empty()) write_text(folder.path() / "allocations.map", map);
        thread.tid = 7;
        record.seq = 7;
        record.begin_ticks = 1000 + 7 * kTicksPerMs;
        record.end_ticks = record.begin_ticks + kTicksPerMs;
        record.kind = ring::CallKind::extern_op;
        record.result = 1;
    }
    [[nodiscard]] ring::Call call() const { return {&thread, &record}; }
    [[nodiscard]] Evidence at(const std::string& address) const {
        Evidence evidence;
        evidence.device.emplace().address = address;
        add_memory_facts(process, {call(), std::nullopt, call()}, evidence);
        return evidence;
    }
    [[nodiscard]] Evidence failed() const {
        Evidence evidence;
        add_memory_facts(process, {std::nullopt, call(), call()}, evidence);
        return evidence;
    }

    TempFolder folder;
    RecordedProcess process;
    ring::Thread thread;
    ring::Record record{};
};

std::string one_freed(std::uint64_t after) {
    return allocation_bytes(header_of(1, 0), {freed(slot(1, kBase, 2 * kMiB), after)});
}

}  // namespace

TEST_CASE("The address of a fault is looked up in the map of its process, as of the launch") {
    const Evidence evidence = Recorded(one_freed(4)).at("0x7f0000001000");
    REQUIRE(evidence.allocations.size() == 1);
    CHECK(evidence.allocations.front().is_use_after_free());
    CHECK(evidence.allocations.front().freed_before_ns == 3'000'000U);
    CHECK(evidence.notes.empty());
    CHECK_FALSE(Recorded(one_freed(7)).at("7f0000001000").allocations.front().is_use_after_free());
}

TEST_CASE("Use after free is not claimed for an access beyond an argument, or a likely one outside of all") {
    const auto is_reported = [](PlacedAccess::Place place, bool is_likely) {
        Evidence evidence = Recorded(one_freed(4)).at("0x7f0000001000");
        evidence.device->accessed.emplace();
        PlacedAccess access;
        access.place = place;
        access.is_likely = is_likely;
        const std::vector<NearMemory> memory = judged_memory(evidence, access);
        REQUIRE(memory.size() == 1);
        CHECK(memory.front().place == NearMemory::Place::freed);
        return memory.front().is_use_after_free();
    };
    using Place = PlacedAccess::Place;
    CHECK(is_reported(Place::inside, false));
    CHECK(is_reported(Place::unknown, false));
    CHECK_FALSE(is_reported(Place::past, false));
    CHECK_FALSE(is_reported(Place::before, false));
    CHECK_FALSE(is_reported(Place::unknown, true));
    CHECK_FALSE(is_reported(Place::past, true));
    // Whichever argument it was, it is in freed memory.
    CHECK(is_reported(Place::inside, true));
}

TEST_CASE("Nothing is reported without an address, without a map, or from another process's map") {
    for (const char* address : {"", "0x", "here", "0x7f00000010001234567", "0x0"}) {
        CAPTURE(address);
        CHECK(Recorded(one_freed(4)).at(address).allocations.empty());
    }
    const Evidence without = Recorded("").at("0x7f0000001000");
    CHECK(without.allocations.empty());
    CHECK(without.notes.empty());
    FileHeader header = header_of(1, 0);
    header.pid = 17;
    CHECK(
        Recorded(allocation_bytes(header, {slot(1, kBase, kMiB)})).at("0x7f0000001000").allocations.empty());
}

TEST_CASE("The tensors of that memory are reported, from the map of the same process") {
    const auto with_tensors = [](std::uint32_t pid) {
        Recorded recorded(allocation_bytes(header_of(1, 0), {slot(1, kBase, 2 * kMiB)}));
        tensors::FileHeader header{};
        header.magic = tensors::kMagic;
        header.version = tensors::kVersion;
        header.slot_bytes = sizeof(tensors::Slot);
        header.slots = 1;
        header.pid = pid;
        tensors::Slot tensor{};
        tensor.number = 1;
        tensor.address = kBase;
        tensor.bytes = kMiB;
        tensor.created_sequence = 3;
        std::memcpy(tensor.name, "buf0", 4);
        std::string bytes(tensors::kPage, '\0');
        std::memcpy(bytes.data(), &header, sizeof header);
        bytes.append(reinterpret_cast<const char*>(&tensor), sizeof tensor);
        write_text(recorded.folder.path() / "tensors.map", bytes);
        return recorded.at("0x7f0000001000");
    };
    const Evidence evidence = with_tensors(4242);
    REQUIRE(evidence.allocations.size() == 1);
    REQUIRE(evidence.allocations.front().tensors.size() == 1);
    CHECK(evidence.allocations.front().tensors.front().name == "buf0");
    CHECK(evidence.notes.empty());
    CHECK(with_tensors(17).allocations.front().tensors.empty());
    Recorded damaged(allocation_bytes(header_of(1, 0), {slot(1, kBase, 2 * kMiB)}));
    write_text(damaged.folder.path() / "tensors.map", "no map");
    CHECK(damaged.at("0x7f0000001000").notes.size() == 1);
}

TEST_CASE("Anything that makes a map incomplete is noted") {
    CHECK(Recorded("no map").at("0x7f0000001000").notes.size() == 1);
    FileHeader header = header_of(2, 0);
    header.lost = 3;
    const Evidence evidence = Recorded(allocation_bytes(header, {slot(1, kBase, kMiB)})).at("0x7f0000001000");
    CHECK(evidence.allocations.size() == 1);
    CHECK(evidence.notes ==
          std::vector<std::string>{"the map's slots are truncated",
                                   "the allocation map was full: 3 allocations are missing"});
}

TEST_CASE("A call ran out of memory if its thread was refused some during the call") {
    const auto refused = [](std::uint64_t ticks, std::uint32_t thread) {
        return Recorded(allocation_bytes(header_of(0, 1), {}, {failure(1, 512, ticks, thread)}));
    };
    const std::uint64_t begin = 1000 + 7 * kTicksPerMs;
    CHECK(refused(begin + 1, 7).failed().shortage);
    CHECK_FALSE(refused(begin - 1, 7).failed().shortage);
    CHECK_FALSE(refused(begin + kTicksPerMs + 1, 7).failed().shortage);
    CHECK_FALSE(refused(begin + 1, 8).failed().shortage);
    Recorded left = refused(begin + 1, 7);
    left.record.result = 0;
    CHECK_FALSE(left.failed().shortage);
    left.record.flags = ring::kUnwoundByException;
    CHECK(left.failed().shortage);
    // The driver itself says why a launch failed.
    left.record.kind = ring::CallKind::launch;
    CHECK_FALSE(left.failed().shortage);
}

TEST_CASE("Without a failed call the last refusal counts, and only if no call started after it") {
    const auto at_end = [](std::uint64_t sequence, std::uint64_t satisfied, bool is_inside = false) {
        Failure refused = failure(1, 512, 5000);
        refused.sequence = sequence;
        refused.satisfied_ticks = satisfied;
        const Recorded recorded(allocation_bytes(header_of(0, 1), {}, {refused}));
        Evidence evidence;
        if (is_inside) evidence.in_flight.push_back(call_of("a"));
        add_memory_facts(recorded.process, {std::nullopt, std::nullopt, recorded.call()}, evidence);
        return evidence.shortage.has_value();
    };
    CHECK(at_end(7, 0));
    CHECK_FALSE(at_end(6, 0));
    CHECK_FALSE(at_end(7, 6000));
    CHECK_FALSE(at_end(7, 0, true));
}

TEST_CASE("The time of a launch is unknown if a graph was launched after it") {
    ring::Record graph = record(4, 0);
    graph.kind = ring::CallKind::graph;
    const Result<ring::Contents> contents = ring::parse_flight_ring(
        file_start() + names_block({"a"}) + thread_block(7, {record(3, 0), graph, record(5, 0)}));
    REQUIRE(contents.ok());
    const RecordedCalls calls(contents.value());
    CHECK(calls.may_be_replayed(*calls.of_sequence(3)));
    CHECK_FALSE(calls.may_be_replayed(*calls.of_sequence(5)));
}

TEST_CASE("The call around a wait is searched as deep as calls can nest, and no deeper") {
    const auto found = [](std::uint64_t waits) {
        std::vector<ring::Record> records = {record(3, 0)};
        for (std::uint64_t i = 0; i < waits; ++i) {
            ring::Record& wait = records.emplace_back(record(4 + i, 0));
            wait.kind = ring::CallKind::wait;
            wait.back = 1;
        }
        const Result<ring::Contents> contents =
            ring::parse_flight_ring(file_start() + names_block({"a"}) + thread_block(7, records));
        REQUIRE(contents.ok());
        const std::optional<ring::Call> call = RecordedCalls(contents.value()).of_sequence(3 + waits);
        return call ? call->record->seq : 0;
    };
    CHECK(found(0) == 3);
    CHECK(found(5) == 3);
    CHECK(found(1000) == 0);
}

}  // namespace aoti_dbg::test::memory_facts_test
