// The map of tensors: damaged and hostile bytes first, then the tensors at an address, and what the writer
// leaves behind.
#include "serializer/tensor_map.hpp"

#include <cstring>
#include <random>
#include <thread>

#include "shim/record/tensor_map_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"
#include "triage/judge/memory_words.hpp"

namespace aoti_dbg::test::tensor_map_test {

using tensors::End;
using tensors::FileHeader;
using tensors::Origin;
using tensors::Slot;
using Place = NearTensor::Place;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kBase = 0x7f0000000000;

Slot tensor(std::uint64_t number, const std::string& name, std::uint64_t address, std::uint64_t bytes) {
    Slot slot{};
    slot.number = number;
    slot.address = address;
    slot.bytes = bytes;
    slot.created_sequence = number * 10;
    slot.run = 3;
    slot.origin = Origin::made;
    std::memcpy(slot.name, name.data(), std::min(name.size(), sizeof slot.name));
    return slot;
}

Slot ended(Slot slot, End end, std::uint64_t sequence) {
    slot.end = end;
    slot.end_sequence = sequence;
    slot.ended = slot.number;
    return slot;
}

std::string bytes_of(const std::vector<Slot>& slots) {
    FileHeader header{};
    header.magic = tensors::kMagic;
    header.version = tensors::kVersion;
    header.slot_bytes = sizeof(Slot);
    header.slots = static_cast<std::uint32_t>(slots.size());
    std::string bytes(tensors::kPage, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    for (const Slot& slot : slots)
        bytes.append(reinterpret_cast<const char*>(&slot), sizeof slot);
    return bytes;
}

TensorMap map_of(const std::vector<Slot>& slots) {
    const Result<TensorMap> map = parse_tensor_map(bytes_of(slots));
    REQUIRE(map.ok());
    CHECK(map.value().notes.empty());
    return map.value();
}

/// A segment of 20 MiB that was allocated after call 5.
NearMemory segment() {
    NearMemory memory;
    memory.place = NearMemory::Place::inside;
    memory.address = kBase;
    memory.bytes = 20 * kMiB;
    memory.created_sequence = 5;
    return memory;
}

NearMemory asked(const std::vector<Slot>& slots, std::uint64_t address, std::uint64_t launch = 1000,
                 NearMemory memory = segment()) {
    add_near_tensors(map_of(slots), address, {launch, 0}, memory);
    return memory;
}

std::string text_of(const NearMemory& memory) {
    std::string text;
    for (const NearTensor& near : memory.tensors)
        text += (text.empty() ? "" : "; ") + near_text(near);
    return text;
}

}  // namespace

TEST_CASE("A map of tensors cut off at any byte is read as far as it goes") {
    const std::string whole = bytes_of({tensor(1, "buf0", kBase, 512), tensor(2, "buf1", kBase + kMiB, 512)});
    std::size_t most = 0;
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const Result<TensorMap> map = parse_tensor_map(whole.substr(0, length));
        if (!map.ok()) continue;
        CHECK((length == whole.size()) == map.value().notes.empty());
        most = std::max(most, map.value().slots.size());
    }
    CHECK(most == 2);
}

TEST_CASE("Other files and maps of another version are reported as such") {
    std::string bytes = bytes_of({tensor(1, "buf0", kBase, 512)});
    CHECK_FALSE(parse_tensor_map("").ok());
    CHECK_FALSE(parse_tensor_map(std::string(8192, 'x')).ok());
    bytes[8] = 2;
    const Result<TensorMap> newer = parse_tensor_map(bytes);
    REQUIRE_FALSE(newer.ok());
    CHECK(newer.status().message().find("version 2") != std::string::npos);
}

TEST_CASE("Any bytes in place of the slots are read and queried without harm") {
    std::mt19937_64 random(4711);
    std::string bytes = bytes_of({});
    const std::uint32_t slots = 64;
    std::memcpy(bytes.data() + offsetof(FileHeader, slots), &slots, sizeof slots);
    for (int round = 0; round < 200; ++round) {
        bytes.resize(tensors::kPage);
        for (std::size_t i = 0; i < slots * sizeof(Slot) / 8; ++i) {
            const std::uint64_t word = random() >> (random() % 64);
            bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
        }
        const Result<TensorMap> map = parse_tensor_map(bytes);
        REQUIRE(map.ok());
        NearMemory memory = segment();
        memory.address = random() >> (random() % 64);
        memory.bytes = UINT64_MAX - memory.address;
        memory.created_sequence = 0;
        add_near_tensors(map.value(), memory.address + random() % 4096, {random(), 0}, memory);
        CHECK(memory.tensors.size() <= 2);
        for (const NearTensor& near : memory.tensors)
            CHECK_FALSE(near_text(near).empty());
        CHECK(tensors_of_run(map.value(), map.value().slots.empty() ? 0 : map.value().slots.front().run, 0,
                             UINT64_MAX)
                  .size() <= slots);
    }
}

TEST_CASE("A run's tensors are those that existed when the call started, by their first names") {
    Slot other_run = tensor(5, "buf9", kBase, 512);
    other_run.run = 4;
    Slot other_model = tensor(6, "buf8", kBase, 512);
    other_model.model = 1;
    const TensorMap map = map_of(
        {tensor(1, "arg0_1", kBase, 64), tensor(2, "buf0 (later buf1)", kBase + kMiB, 512),
         tensor(3, "", kBase, 64), tensor(4, "buf2 (.. buf7)", kBase, 64), other_run, other_model,
         tensor(7, "buf3", kBase, 64), tensor(8, "buf3", kBase + 64, 64), tensor(9, "late", kBase, 64)});
    const std::vector<TensorOfRun> found = tensors_of_run(map, 3, 0, 90);
    REQUIRE(found.size() == 3);
    CHECK(found[0].name == "arg0_1");
    CHECK(found[1].name == "buf0");
    CHECK(found[1].address == kBase + kMiB);
    CHECK(found[1].bytes == 512);
    CHECK(found[1].origin == Origin::made);
    CHECK(found[2].name == "buf2");
    CHECK(tensors_of_run(map, 3, 0, 91).size() == 4);
    CHECK(tensors_of_run(map, ~0U, ~0U, 91).empty());
}

TEST_CASE("An address in a tensor and one between two are described by them") {
    const std::vector<Slot> slots = {tensor(1, "buf0", kBase + kMiB, kMiB),
                                     tensor(2, "buf1 (later buf3)", kBase + 4 * kMiB, 512)};
    const NearMemory inside = asked(slots, kBase + kMiB + 4096);
    CHECK(inside.known_tensors == 2);
    CHECK(text_of(inside) == "4 KiB into buf0 (1 MiB, created in run 3)");
    CHECK(text_of(asked(slots, kBase + 3 * kMiB)) ==
          "1 MiB past the end of buf0 (1 MiB, created in run 3); "
          "1 MiB before buf1 (later buf3) (512 bytes, created in run 3)");
    CHECK(text_of(asked(slots, kBase + 2 * kMiB)).rfind("just past the end of buf0", 0) == 0);
    CHECK(text_of(asked(slots, kBase)) == "1 MiB before buf0 (1 MiB, created in run 3)");
    // An address past the segment itself is described by its last tensor.
    CHECK(text_of(asked(slots, kBase + 24 * kMiB)) ==
          "20 MiB past the end of buf1 (later buf3) (512 bytes, created in run 3)");
}

TEST_CASE("Of the tensors at one place the latest one that preceded the launch counts") {
    const std::vector<Slot> slots = {ended(tensor(1, "buf0", kBase, kMiB), End::freed, 15),
                                     tensor(2, "buf1", kBase + 512 * 1024, kMiB), tensor(3, "", kBase, 512)};
    CHECK(asked(slots, kBase + 600 * 1024).tensors.front().name == "buf1");
    CHECK(text_of(asked(slots, kBase + 100)) == "100 bytes into a tensor (512 bytes, created in run 3)");
    CHECK(asked(slots, kBase + 100).known_tensors == 2);
    const NearMemory earlier = asked(slots, kBase + 100, 20);
    CHECK(text_of(earlier) == "100 bytes into buf0 (1 MiB, created in run 3, already freed)");
    CHECK_FALSE(asked(slots, kBase + 100, 12).tensors.front().was_freed);
    CHECK(asked(slots, kBase + 100, 10).tensors.empty());
    // Without a launch the order is unknown.
    CHECK(asked(slots, kBase + 100, 0).tensors.front().name.empty());
}

TEST_CASE("Tensors from before the memory was allocated, or from after its free, do not count") {
    const std::vector<Slot> slots = {tensor(1, "buf0", kBase, kMiB)};
    NearMemory memory = segment();
    memory.created_sequence = 11;
    CHECK(asked(slots, kBase, 1000, memory).tensors.empty());
    memory.pieces = 2;  // each was mapped at its own time
    CHECK(asked(slots, kBase, 1000, memory).tensors.size() == 1);
    memory = segment();
    memory.freed_sequence = 9;
    CHECK(asked(slots, kBase, 1000, memory).tensors.empty());
    memory.place = NearMemory::Place::freed;  // although it was used as one
    CHECK(asked(slots, kBase, 1000, memory).tensors.size() == 1);
    memory.place = NearMemory::Place::inside;
    memory.freed_sequence = 10;
    CHECK(asked(slots, kBase, 1000, memory).tensors.size() == 1);
    memory.place = NearMemory::Place::nowhere;
    CHECK(asked(slots, kBase, 1000, memory).tensors.empty());
}

TEST_CASE("The origin and the fate of a tensor are reported") {
    Slot input = tensor(1, "arg0_1", kBase, 512);
    input.origin = Origin::input;
    CHECK(text_of(asked({input}, kBase)) == "0 bytes into arg0_1 (512 bytes, input of run 3)");
    Slot returned = ended(tensor(2, "buf9", kBase, 512), End::outlived, 90);
    returned.origin = Origin::returned;
    CHECK(text_of(asked({returned}, kBase)) ==
          "0 bytes into buf9 (512 bytes, returned by an op in run 3, kept after the run)");
    // An end that was written for the previous tensor in this slot.
    Slot torn = ended(tensor(2, "buf9", kBase, 512), End::freed, 90);
    torn.ended = 1;
    CHECK(asked({torn}, kBase).tensors.front().end == End::none);
    CHECK(asked({tensor(1, "a\nb", kBase, 512)}, kBase).tensors.front().name.find('\n') == std::string::npos);
}

TEST_CASE("The writer's tensors are read back, the latest ones if there are too many") {
    const TempFolder folder;
    const std::string path = folder.path() / "tensors.map";
    const Result<std::unique_ptr<TensorMapFile>> made = TensorMapFile::create(path, 4);
    REQUIRE(made.ok());
    TensorMapFile& file = *made.value();
    for (std::uint64_t i = 1; i <= 6; ++i)
        CHECK(file.add(tensor(0, "buf" + std::to_string(i), kBase + i * kMiB, 512)) == i);
    file.end(1, End::freed, 77);  // its slot has another owner
    file.end(6, End::freed, 78);
    const Result<TensorMap> map = parse_tensor_map(read_text(path));
    REQUIRE(map.ok());
    REQUIRE(map.value().slots.size() == 4);
    CHECK(map.value().header.made == 6);
    CHECK(map.value().slots.front().number == 3);
    CHECK(map.value().slots[2].ended == 0);
    CHECK(std::string(map.value().slots.back().name) == "buf6");
    CHECK(map.value().slots.back().end == End::freed);
    CHECK(map.value().slots.back().end_sequence == 78);
}

TEST_CASE("Threads that write at once lose nothing") {
    const TempFolder folder;
    const std::string path = folder.path() / "tensors.map";
    const Result<std::unique_ptr<TensorMapFile>> made = TensorMapFile::create(path, 4096);
    REQUIRE(made.ok());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (std::uint64_t i = 0; i < 1000; ++i)
                made.value()->end(made.value()->add(tensor(0, "buf0", kBase, 512)), End::freed, i);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    const Result<TensorMap> map = parse_tensor_map(read_text(path));
    REQUIRE(map.ok());
    CHECK(map.value().slots.size() == 4000);
    CHECK(std::all_of(map.value().slots.begin(), map.value().slots.end(),
                      [](const Slot& slot) { return slot.ended == slot.number; }));
}

}  // namespace aoti_dbg::test::tensor_map_test
