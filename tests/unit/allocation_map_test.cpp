// The map of allocations: damaged and hostile bytes first, then what it says about an address and a lack of
// memory, and what the writer leaves behind.
#include "serializer/allocation_map.hpp"

#include <random>

#include "shim/record/allocation_file.hpp"
#include "tests/support/allocation_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"
#include "triage/judge/memory_words.hpp"

namespace aoti_dbg::test::allocation_map_test {

using Place = NearMemory::Place;

namespace {

AllocationMap map_of(const std::vector<Slot>& slots, const std::vector<Failure>& failures = {}) {
    const Result<AllocationMap> map =
        parse_allocation_map(allocation_bytes(header_of(slots.size(), failures.size()), slots, failures));
    REQUIRE(map.ok());
    CHECK(map.value().notes.empty());
    return map.value();
}

std::string text_of(const std::vector<NearMemory>& near) {
    std::string text;
    for (const NearMemory& one : near)
        text += (text.empty() ? "" : "; ") + near_text(one);
    return text;
}

/// Asks everything that a map can answer, whatever its contents.
void ask_everything(const AllocationMap& map) {
    for (const Slot& one : map.slots) {
        for (const std::uint64_t address :
             {one.address, one.address + one.bytes, one.address - 1, UINT64_MAX}) {
            const std::vector<NearMemory> near = near_memory(map, address, launch(one.created_sequence));
            REQUIRE_FALSE(near.empty());
            CHECK(near.size() <= 2);
            for (const NearMemory& found : near)
                CHECK_FALSE(near_text(found).empty());
        }
    }
    for (const Failure& one : map.failures) {
        const std::optional<Shortage> shortage = shortage_in(map, one.thread, 0, 0);
        if (shortage) CHECK_FALSE(shortage_text(*shortage).empty());
    }
}

}  // namespace

TEST_CASE("A map cut off at any byte is read as far as it goes") {
    const std::string whole = allocation_bytes(
        header_of(3, 2),
        {slot(1, kBase, 512), slot(2, kBase + 512, 512), freed(slot(3, kBase + kMiB, 64), 5)},
        {failure(1, 512, 2000), failure(2, 512, 3000)});
    std::size_t most = 0;
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const Result<AllocationMap> map = parse_allocation_map(std::string_view(whole).substr(0, length));
        REQUIRE(map.ok() == (length >= sizeof(FileHeader)));
        if (!map.ok()) continue;
        const std::size_t entries = map.value().slots.size() + map.value().failures.size();
        CHECK(entries >= most);
        CHECK(map.value().notes.empty() == (length == whole.size()));
        most = entries;
        ask_everything(map.value());
    }
    CHECK(most == 5);
}

TEST_CASE("Other files, newer maps and maps with other entries are each refused with their own reason") {
    FileHeader header = header_of(0, 0);
    std::string reason;
    SECTION("magic") {
        header.magic = 7;
        reason = "not a map";
    }
    SECTION("version 0") {
        header.version = 0;
        reason = "not a map";
    }
    SECTION("a newer version") {
        header.version = allocations::kVersion + 1;
        reason = "or older, got version";
    }
    SECTION("other slots") {
        header.slot_bytes = 8;
        reason = "damaged";
    }
    SECTION("other failures") {
        header.failure_bytes = 0;
        reason = "damaged";
    }
    const Result<AllocationMap> map = parse_allocation_map(allocation_bytes(header, {}));
    REQUIRE_FALSE(map.ok());
    CHECK(map.status().message().find(reason) != std::string::npos);
}

TEST_CASE("Tables that claim more than the file has give the entries that exist") {
    FileHeader header = header_of(1, 0);
    header.slots = UINT32_MAX;
    const Result<AllocationMap> map = parse_allocation_map(allocation_bytes(header, {slot(1, kBase, 512)}));
    REQUIRE(map.ok());
    CHECK(map.value().slots.size() == 1);
    CHECK(map.value().notes.size() == 1);
    header.failures = UINT32_MAX;
    CHECK(parse_allocation_map(allocation_bytes(header, {slot(1, kBase, 512)})).value().slots.empty());
}

TEST_CASE("Impossible allocations are left out with a note, and unfinished ones are skipped") {
    const std::vector<Slot> slots = {slot(1, kBase, 0), slot(2, UINT64_MAX - 10, 100), slot(0, kBase, 512),
                                     slot(4, kBase, 512)};
    const Result<AllocationMap> map =
        parse_allocation_map(allocation_bytes(header_of(slots.size(), 0), slots));
    REQUIRE(map.ok());
    CHECK(map.value().slots.size() == 1);
    REQUIRE(map.value().notes.size() == 1);
    CHECK(map.value().notes.front() == "the map has 2 impossible allocations, which are ignored");
}

TEST_CASE("A time that no process can have lived counts as unknown") {
    FileHeader header = header_of(0, 0);
    CHECK(map_of({}, {}).nanoseconds(kTicksPerMs) == 1'000'000);
    header.anchor_ticks = header.start_ticks + 1;
    const Result<AllocationMap> map = parse_allocation_map(allocation_bytes(header, {}, {}));
    REQUIRE(map.ok());
    CHECK(map.value().nanoseconds(1) == 2'000'000'000U);
    CHECK(map.value().nanoseconds(UINT64_MAX) == 0);
}

TEST_CASE("Any bytes are read, with no more memory than their size") {
    std::mt19937_64 random(7);
    const std::string whole =
        allocation_bytes(header_of(4, 2),
                         {slot(1, kBase, kMiB, Way::map), slot(2, kBase + kMiB, kMiB, Way::map),
                          freed(slot(3, kBase + 8 * kMiB, 64), 5), slot(4, 64, 64)},
                         {failure(1, 512, 2000), failure(2, 512, 3000)});
    for (int round = 0; round < 4000; ++round) {
        std::string bytes = whole;
        for (std::uint64_t hits = 1 + random() % 12; hits != 0; --hits) {
            // Beyond the header's page there are only entries. The damage hits both.
            const std::size_t at = random() % 2 == 0
                                       ? random() % sizeof(FileHeader)
                                       : allocations::kPage + random() % (bytes.size() - allocations::kPage);
            bytes[at] = static_cast<char>(random());
        }
        const Result<AllocationMap> map = parse_allocation_map(bytes);
        if (map.ok()) ask_everything(map.value());
    }
}

TEST_CASE("An address in living memory is reported with its offset") {
    Slot living = slot(1, kBase, 2 * kMiB);
    const std::string text = text_of(near_memory(map_of({living}), kBase + 4096, {}));
    CHECK(text ==
          "4 KiB into an allocation of 2 MiB on cuda:0 (cuMemAlloc), possibly a segment of several tensors");
    living.bytes = 1000;
    living.device = 3;
    CHECK(text_of(near_memory(map_of({living}), kBase + 999, {})) ==
          "999 bytes into an allocation of 1000 bytes on cuda:3 (cuMemAlloc)");
    Slot host = slot(1, kBase, 4096, Way::alloc_host);
    host.device = allocations::kNoDevice;
    CHECK(text_of(near_memory(map_of({host}), kBase, {})) ==
          "0 bytes into host memory of 4 KiB (cuMemHostAlloc)");
}

TEST_CASE("An address in freed memory is a use after free, with the time and the call of the free") {
    const AllocationMap map = map_of({freed(slot(1, kBase, 2 * kMiB), 4)});
    const std::vector<NearMemory> near = near_memory(map, kBase + 4096, launch(7));
    REQUIRE(near.size() == 1);
    CHECK(near.front().is_use_after_free());
    CHECK(near.front().freed_before_ns == 3'000'000U);
    CHECK(text_of(near) ==
          "in memory freed 3 ms before the launch (2 MiB on cuda:0 by cuMemFree, 4 KiB after its start): use "
          "after free");
    CHECK(freed_text(near.front()) == "2 MiB on cuda:0, freed by cuMemFree 3 ms before the launch");
    // The launch is unknown, and so is the time between free and launch.
    CHECK(text_of(near_memory(map, kBase, {})) ==
          "in memory freed before or after the launch (2 MiB on cuda:0 by cuMemFree, 0 bytes after its "
          "start)");
    CHECK_FALSE(near_memory(map, kBase, {}).front().is_use_after_free());
    const AllocationMap ordered = map_of({freed(slot(1, kBase, 512, Way::alloc_async), 4, Way::free_async)});
    CHECK(text_of(near_memory(ordered, kBase, launch(7))) ==
          "in memory freed in stream order 3 ms before the launch (512 bytes on cuda:0 by cuMemFreeAsync, 0 "
          "bytes after its start): use after free");
}

TEST_CASE("Memory freed after the launch existed for it, and memory allocated after it did not") {
    const AllocationMap map = map_of({freed(slot(1, kBase, 512), 20)});
    const std::vector<NearMemory> later = near_memory(map, kBase, launch(20));
    REQUIRE(later.size() == 1);
    CHECK(later.front().place == Place::freed_later);
    CHECK_FALSE(later.front().is_use_after_free());
    CHECK(text_of(later) ==
          "0 bytes into an allocation of 512 bytes on cuda:0 (cuMemAlloc), which was freed after that launch "
          "(cuMemFree)");
    CHECK(near_memory(map, kBase, launch(21)).front().is_use_after_free());
    // Allocated where freed memory was, during the recording of the fault.
    const AllocationMap reused = map_of({freed(slot(1, kBase, 512), 4), slot(9, kBase, 512)});
    CHECK(near_memory(reused, kBase, launch(7)).front().is_use_after_free());
    CHECK(near_memory(reused, kBase, launch(10)).front().place == Place::inside);
    CHECK(near_memory(reused, kBase, {}).front().place == Place::inside);
}

TEST_CASE("Of several frees at an address the latest is reported") {
    const AllocationMap map = map_of(
        {freed(slot(1, kBase, 512), 2), freed(slot(5, kBase, 4096), 6), freed(slot(3, kBase, 1024), 4)});
    CHECK(near_memory(map, kBase + 100, launch(9)).front().bytes == 4096);
    CHECK(near_memory(map, kBase + 100, launch(5)).front().bytes == 1024);
    CHECK(near_memory(map, kBase + 100, launch(3)).front().bytes == 512);
}

TEST_CASE("Neighbors are reported with their distance, and only nearby ones") {
    const AllocationMap map = map_of(
        {slot(1, kBase, 2 * kMiB), slot(2, kBase + 4 * kMiB, 512), freed(slot(3, kBase + 3 * kMiB, 512), 4)});
    CHECK(text_of(near_memory(map, kBase + 2 * kMiB + 512, {})) ==
          "512 bytes past the end of an allocation of 2 MiB on cuda:0 (cuMemAlloc); 2096640 bytes before an "
          "allocation of 512 bytes on cuda:0 (cuMemAlloc)");
    CHECK(text_of(near_memory(map, kBase + 2 * kMiB, {})).rfind("just past the end of", 0) == 0);
    CHECK(text_of(near_memory(map, kBase - 65536, {})) ==
          "64 KiB before an allocation of 2 MiB on cuda:0 (cuMemAlloc)");
    for (const std::uint64_t far : {std::uint64_t{16}, kBase + 2 * kNearBytes, UINT64_MAX}) {
        const std::vector<NearMemory> near = near_memory(map, far, {});
        REQUIRE(near.size() == 1);
        CHECK(near.front().place == Place::nowhere);
    }
    CHECK(text_of(near_memory(map_of({}), kBase, {})) == "in no known allocation, and none is within 1 GiB");
}

TEST_CASE("Freed neighbors are reported where no living one is near") {
    const Slot gone = freed(slot(1, kBase, 512), 4);
    CHECK(text_of(near_memory(map_of({gone}), kBase + 512 + 16, launch(9))) ==
          "16 bytes past the end of an allocation of 512 bytes on cuda:0 (cuMemAlloc), which was freed "
          "(cuMemFree)");
    CHECK(text_of(near_memory(map_of({gone, slot(2, kBase + kMiB, 512)}), kBase + 512 + 16, launch(9))) ==
          "1048048 bytes before an allocation of 512 bytes on cuda:0 (cuMemAlloc)");
}

TEST_CASE("Pieces mapped one behind the other count as one, and other pieces do not") {
    std::vector<Slot> slots = {slot(1, kBase, kMiB, Way::map), slot(2, kBase + kMiB, kMiB, Way::map),
                               slot(3, kBase + 2 * kMiB, kMiB, Way::map),
                               slot(4, kBase + 4 * kMiB, kMiB, Way::map)};
    const AllocationMap map = map_of(slots);
    const std::vector<NearMemory> inside = near_memory(map, kBase + kMiB + 16, {});
    REQUIRE(inside.size() == 1);
    CHECK(inside.front().pieces == 3);
    CHECK(inside.front().address == kBase);
    CHECK(inside.front().distance == kMiB + 16);
    CHECK(text_of(near_memory(map, kBase + 3 * kMiB + 16, {}))
              .rfind("16 bytes past the end of 3 adjacent mappings, 3 MiB on cuda:0 (cuMemMap); ", 0) == 0);
    // One of the pieces was unmapped.
    slots[1] = freed(slots[1], 6, Way::unmap);
    const std::vector<NearMemory> hole = near_memory(map_of(slots), kBase + kMiB, launch(9));
    CHECK(text_of(hole) ==
          "in memory freed 3 ms before the launch (1 MiB on cuda:0 by cuMemUnmap, 0 bytes after its start): "
          "use "
          "after free");
    slots[1] = slot(2, kBase + kMiB, kMiB, Way::alloc);
    CHECK(near_memory(map_of(slots), kBase, {}).front().pieces == 1);
    slots[1] = slot(2, kBase + kMiB, kMiB, Way::map);
    slots[1].device = 1;
    CHECK(near_memory(map_of(slots), kBase, {}).front().pieces == 1);
}

TEST_CASE("A thread lacks memory that was refused and not granted within the given time") {
    const AllocationMap map = map_of({slot(1, kBase, 3 * kMiB), freed(slot(2, kBase, 512), 3)},
                                     {failure(1, 100, 1'000'000'000), failure(2, 200, 2'000'000'000)});
    CHECK(shortage_in(map, 7, 0, 0)->bytes == 200);
    CHECK(shortage_in(map, 7, 0, 1'500'000'000)->bytes == 100);
    CHECK_FALSE(shortage_in(map, 7, 0, 500));
    CHECK_FALSE(shortage_in(map, 7, 2'500'000'000, 0));
    CHECK_FALSE(shortage_in(map, 8, 0, 0));
    CHECK(shortage_in(map, 7, 0, 0)->held == 1);
    CHECK(shortage_in(map, 7, 0, 0)->held_bytes == 3 * kMiB);
    Failure retried = failure(1, 100, 1000);
    retried.satisfied_ticks = 2000;
    CHECK_FALSE(shortage_in(map_of({}, {retried}), 7, 0, 0));
    CHECK_FALSE(shortage_in(map_of({}, {retried}), 7, 0, 2000));
    // The request succeeded, but only after the call had failed.
    CHECK(shortage_in(map_of({}, {retried}), 7, 0, 1999));
}

TEST_CASE("The map lies beside its ring, under the same process's name") {
    CHECK(allocations_path("/out/flight.ring") == "/out/allocations.map");
    CHECK(allocations_path("/out/flight-17.ring") == "/out/allocations-17.map");
}

// ---- the writer

namespace {

/// A map of four slots.
struct Written {
    Written() {
        Result<std::unique_ptr<AllocationFile>> made = AllocationFile::create(path(), 4);
        REQUIRE(made.ok());
        file = std::move(made.value());
    }
    [[nodiscard]] std::string path() const { return folder.path() / "allocations.map"; }
    [[nodiscard]] AllocationMap read() const {
        Result<AllocationMap> map = read_allocation_map(path());
        REQUIRE(map.ok());
        return map.value();
    }
    void add(std::uint64_t address, std::uint64_t bytes, const void* context = nullptr) {
        file->add({address, bytes, 0, 0, Way::alloc, context}, now());
    }
    void free(std::uint64_t address) { file->end(file->take(address, 0), Way::free, 0, now()); }
    AllocationMoment now() { return {++ticks, ++sequence, 7}; }

    TempFolder folder;
    std::unique_ptr<AllocationFile> file;
    std::uint64_t ticks = 0;
    std::uint64_t sequence = 0;
};

std::size_t living(const AllocationMap& map) {
    return static_cast<std::size_t>(std::count_if(map.slots.begin(), map.slots.end(),
                                                  [](const Slot& one) { return one.freed_ticks == 0; }));
}

}  // namespace

TEST_CASE("Living memory keeps its slot, and the oldest freed memory makes room when needed") {
    Written written;
    written.add(0x1000, 16);
    written.add(0x2000, 16);
    written.add(0x3000, 16);
    written.free(0x2000);
    written.free(0x1000);
    written.add(0x4000, 16);
    CHECK(written.read().slots.size() == 4);
    written.add(0x5000, 16);  // in the slot of 0x2000
    AllocationMap map = written.read();
    CHECK(map.header.forgotten == 1);
    CHECK(near_memory(map, 0x1000, {}).front().place == Place::freed);
    CHECK(near_memory(map, 0x2000, {}).front().place == Place::before);  // 0x3000
    written.add(0x6000, 16);
    written.add(0x7000, 16);
    map = written.read();
    CHECK(living(map) == 4);
    CHECK(map.header.lost == 1);
    CHECK(map.header.made == 7);
    written.free(0x3000);
    written.add(0x7000, 16);
    CHECK(near_memory(written.read(), 0x7000, {}).front().place == Place::inside);
}

TEST_CASE("Memory whose free the driver refuses is restored, and belongs to no thread meanwhile") {
    Written written;
    written.add(0x1000, 16);
    const std::vector<AllocationFile::Leaving> leaving = written.file->take(0x1000, 0);
    REQUIRE(leaving.size() == 1);
    CHECK(written.file->take(0x1000, 0).empty());
    CHECK(living(written.read()) == 1);
    written.file->put_back(leaving);
    written.free(0x1000);
    CHECK(living(written.read()) == 0);
}

TEST_CASE("An address that another thread gets before the freeing call returns stays that thread's") {
    Written written;
    written.add(0x1000, 16);
    const std::vector<AllocationFile::Leaving> leaving = written.file->take(0x1000, 0);
    written.add(0x1000, 32);
    written.file->end(leaving, Way::free, 0, written.now());
    const AllocationMap map = written.read();
    CHECK(living(map) == 1);
    CHECK(near_memory(map, 0x1000, {}).front().bytes == 32);
    written.free(0x1000);
    CHECK(living(written.read()) == 0);
}

TEST_CASE("A free ends only memory that starts at its address, and an unmap all that lies within its range") {
    Written written;
    written.add(0x1000, 0x1000);
    written.add(0x2000, 0x1000);
    written.add(0x3000, 0x1000);
    CHECK(written.file->take(0x1800, 0).empty());
    CHECK(written.file->take(0x1800, 0x1000).empty());
    CHECK(written.file->take(0x1000, 0x800).empty());
    CHECK(written.file->take(0x1000, 0x2000).size() == 2);
    CHECK(living(written.read()) == 3);
}

TEST_CASE("Memory with an unseen free ends when other memory appears there") {
    Written written;
    written.add(0x1000, 0x1000);
    written.add(0x2000, 0x1000);
    written.add(0x1800, 0x1000);
    const AllocationMap map = written.read();
    CHECK(living(map) == 1);
    CHECK(map.slots.front().freed_by == Way::unseen);
    written.add(0x2800, 0x10);  // behind it
    CHECK(living(written.read()) == 2);
}

TEST_CASE("A destroyed context ends its memory, and a reset device all of it") {
    Written written;
    int one = 0;
    int other = 0;
    written.add(0x1000, 16, &one);
    written.add(0x2000, 16, &other);
    written.file->end_context(&one, written.now());
    CHECK(living(written.read()) == 1);
    written.file->end_device(1, written.now());
    CHECK(living(written.read()) == 1);
    written.file->end_device(0, written.now());
    CHECK(living(written.read()) == 0);
}

TEST_CASE("A refusal is satisfied by as much memory in the same thread, not by less or elsewhere") {
    Written written;
    written.file->refuse({100, 0, Way::alloc, 50, 200}, written.now());
    written.add(0x1000, 99);
    CHECK(shortage_in(written.read(), 7, 0, 0)->free_bytes == 50);
    written.file->add({0x2000, 100, 0, 0, Way::alloc, nullptr}, {++written.ticks, 0, 8});
    CHECK(shortage_in(written.read(), 7, 0, 0)->total_bytes == 200);
    written.file->satisfy(100, written.now());
    CHECK_FALSE(shortage_in(written.read(), 7, 0, 0));
    for (std::uint64_t i = 1; i <= 2 * allocations::kFailures; ++i)
        written.file->refuse({1000 + i, 0, Way::create, 0, 0}, written.now());
    CHECK(written.read().failures.size() == allocations::kFailures);
    CHECK(shortage_in(written.read(), 7, 0, 0)->bytes == 1000 + 2 * allocations::kFailures);
}

TEST_CASE("A map is written beside an existing one, and a failure to create it is an error message") {
    const Written written;
    const Result<std::unique_ptr<AllocationFile>> second = AllocationFile::create(written.path(), 4);
    REQUIRE(second.ok());
    CHECK(std::filesystem::exists(written.path() + ".2"));
    CHECK_FALSE(AllocationFile::create("/proc/no/allocations.map", 4).ok());
}

}  // namespace aoti_dbg::test::allocation_map_test
