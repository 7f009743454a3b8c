// The reader of the driver's GPU core dump: damaged dumps, dumps of other drivers, and the facts about a
// fault. The dumps are written by hand; no real driver checks the layout here.
#include <algorithm>
#include <string>

#include "gpu_dump/gpu_exception.hpp"
#include "gpu_dump/gpu_faults.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gpu_dump_writer.hpp"

namespace aoti_dbg::test::gpu_dump_test {

using gpu::Dim3;
using gpu::Fault;
using gpu::GpuDump;
using gpu::PcKind;
using gpu::ThreadsKind;

namespace {

elf::Bytes bytes_in(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

bool is_noted(const GpuDump& dump, const std::string& part) {
    return std::any_of(dump.notes.begin(), dump.notes.end(),
                       [&part](const std::string& note) { return contains(note, part); });
}

/// A dump together with its bytes and the facts derived from it.
struct Read {
    explicit Read(std::string text) : bytes(std::move(text)), result(gpu::read_gpu_dump(bytes_in(bytes))) {}
    explicit Read(DumpWriter writer) : Read(writer.bytes()) {}
    Read(const Read&) = delete;
    Read& operator=(const Read&) = delete;

    [[nodiscard]] const GpuDump& dump() const {
        REQUIRE(result.ok());
        return result.value();
    }
    [[nodiscard]] std::vector<Fault> faults() const { return gpu::faults(dump(), gpu::CodeMap(dump())); }

    std::string bytes;
    Result<GpuDump> result;
};

std::string error_of(const std::string& bytes) {
    const Read read(bytes);
    return read.result.ok() ? "none" : read.result.status().message();
}

}  // namespace

TEST_CASE("A file that is not a GPU core dump is refused with what it is") {
    CHECK(contains(error_of(""), "is empty"));
    CHECK(contains(error_of("something else"), "is not an ELF file"));
    CHECK(contains(error_of(module_image({{"k"}})), "is a cubin, not a GPU core dump"));
    CHECK(contains(error_of(ElfWriter(3, 62).bytes()), "is a program or a library"));
    CHECK(contains(error_of(ElfWriter(4, 62).bytes()), "is a core dump of a program, not of a GPU"));
    std::string narrow = usual_dump().bytes();
    narrow[4] = 1;
    CHECK(contains(error_of(narrow), "not a 64-bit little-endian one"));
    std::string unfinished = usual_dump().bytes();
    unfinished.replace(40, 8, 8, '\0');
    CHECK(contains(error_of(unfinished), "not written completely"));
    std::string beyond = usual_dump().bytes();
    beyond.replace(40, 8, 8, '\xff');
    CHECK(contains(error_of(beyond), "its section headers are outside the file"));
}

TEST_CASE("A dump cut off at any byte is refused or read as far as it goes, with a note") {
    const std::string whole = usual_dump().bytes();
    for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
        // A copy of exactly its size, so that a sanitizer sees any read beyond it.
        const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
        const Result<GpuDump> read = gpu::read_gpu_dump(std::as_bytes(std::span(cut)));
        // The table of sections comes last in the file.
        REQUIRE_FALSE(read.ok());
        REQUIRE(contains(read.status().message(), "is truncated"));
    }
}

TEST_CASE("If the table of sections comes first, a truncated dump is read as far as it goes, with a note") {
    // The same dump, with the table moved in front of the sections.
    const std::string whole = usual_dump().bytes();
    std::uint64_t table = 0;
    std::memcpy(&table, whole.data() + 40, sizeof table);
    std::string text = whole.substr(0, 64) + whole.substr(table) + whole.substr(64, table - 64);
    const std::uint64_t moved = whole.size() - table;
    text.replace(40, 8, Packed().u64(64).bytes());
    for (std::size_t at = 64 + 64; at < 64 + moved; at += 64) {
        std::uint64_t offset = 0;
        std::memcpy(&offset, text.data() + at + 24, sizeof offset);
        text.replace(at + 24, 8, Packed().u64(offset + moved).bytes());
    }
    REQUIRE(Read(text).faults().size() == 1);
    std::size_t read_with_fault = 0;
    for (std::size_t bytes = 64 + moved; bytes < text.size(); ++bytes) {
        const std::vector<char> cut(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bytes));
        const Result<GpuDump> read = gpu::read_gpu_dump(std::as_bytes(std::span(cut)));
        REQUIRE(read.ok());
        const GpuDump& dump = read.value();
        read_with_fault += gpu::faults(dump, gpu::CodeMap(dump)).empty() ? 0 : 1;
    }
    CHECK(read_with_fault > 0);
    CHECK(is_noted(Read(text.substr(0, 64 + moved + 100)).dump(), "is truncated"));
}

TEST_CASE("Wrong counts and lengths do no harm and are noted") {
    DumpWriter writer = usual_dump();
    SECTION("more bytes than the file has") {
        writer.finish = [](ElfWriter& file) { file.section(3).said_bytes = 1LL << 62; };
        CHECK(is_noted(Read(writer).dump(), ".cudbg.devtbl: is truncated"));
    }
    SECTION("an offset beyond the file") {
        writer.finish = [](ElfWriter& file) { file.section(3).said_offset = 1LL << 62; };
        const Read read(writer);
        CHECK(read.dump().devices.empty());
        CHECK(is_noted(read.dump(), ".cudbg.devtbl: is truncated"));
        CHECK(is_noted(read.dump(), "belongs to an entry that is missing"));
    }
    SECTION("entries of no bytes") {
        writer.finish = [](ElfWriter& file) { file.section(3).entry_bytes = 0; };
        CHECK(is_noted(Read(writer).dump(), "entries that are too short"));
    }
    SECTION("entries longer than their table") {
        writer.finish = [](ElfWriter& file) { file.section(3).entry_bytes = UINT64_MAX; };
        CHECK(Read(writer).dump().devices.empty());
    }
    SECTION("tables that belong to each other, to themselves, or to missing ones") {
        writer.finish = [](ElfWriter& file) {
            for (std::uint32_t i = 4; i < 12; ++i) {
                file.section(i).link = i % 3 == 0 ? i : 4000;
                file.section(i).info = i;
            }
        };
        const Read read(writer);
        CHECK(read.dump().devices.size() == 1);
        CHECK(is_noted(read.dump(), "belongs to an entry that is missing"));
        CHECK(read.dump().notes.size() <= 9);
    }
    SECTION("more sections than possible") {
        writer.counts_in_first_section = true;
        std::string bytes = writer.bytes();
        std::uint64_t table = 0;
        std::memcpy(&table, bytes.data() + 40, sizeof table);
        bytes.replace(table + 32, 8, 8, '\xff');
        CHECK(contains(error_of(bytes), "too many sections"));
        bytes.replace(table + 32, 8, Packed().u64(100000).bytes());
        CHECK(contains(error_of(bytes), "is truncated"));
    }
}

TEST_CASE("Sections that overlap do not make a small file endless") {
    DumpWriter writer = usual_dump();
    writer.finish = [](ElfWriter& file) {
        // Each one covers the whole file, in entries of 8 bytes.
        for (std::uint32_t i = 0; i < 2000; ++i) {
            WrittenSection section{".cudbg.smtbl", kSmsType, {}};
            section.link = 3;
            section.entry_bytes = 8;
            section.said_offset = 0;
            section.said_bytes = 100000;
            file.add(section);
        }
    };
    const Read read(writer);
    CHECK(read.dump().sms.size() <= read.bytes.size() / 8);
    CHECK(is_noted(read.dump(), "overlaps other tables"));
    CHECK(is_noted(read.dump(), "more"));
}

TEST_CASE("Texts out of range, images that are not ELF files and a second table of lanes do no harm") {
    DumpWriter writer = usual_dump();
    writer.devices[0].contexts[0].modules[1].image = "no image at all, but some bytes";
    writer.finish = [](ElfWriter& file) {
        file.section(1).content = "x";  // not even a terminator
        WrittenSection lanes{".cudbg.lntbl", kLanesType, std::string(56, '\1')};
        lanes.link = file.section(file.find(kLanesType)).link;
        lanes.entry_bytes = 56;
        file.add(lanes);
    };
    const Read read(writer);
    CHECK(read.dump().devices[0].name.empty());
    CHECK(is_noted(read.dump(), "a second table of the same warp"));
    const std::vector<Fault> faults = read.faults();
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].kernel.empty());
    CHECK_FALSE(faults[0].place);
    CHECK(faults[0].exception_text.empty());
    CHECK(faults[0].pc == kMulAddress + 0x10);
}

TEST_CASE("Entries of older and newer drivers are read by their given length") {
    DumpWriter writer = usual_dump();
    SECTION("newer: each is longer") {
        writer.entry_bytes = [](std::uint32_t, std::size_t usual) { return usual + 24; };
        const Read read(writer);
        const std::vector<Fault> faults = read.faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].kernel == "mul");
        CHECK(faults[0].threads == std::vector<Dim3>{{32, 0, 0}, {33, 0, 0}});
        CHECK(read.dump().notes.empty());
    }
    SECTION("driver 346: SMs have only an id") {
        writer.entry_bytes = [](std::uint32_t type, std::size_t usual) {
            return type == kSmsType ? 8 : type == kGridsType ? 104 : type == kBlocksType ? 24 : usual;
        };
        writer.has_meta = false;
        const Read read(writer);
        CHECK_FALSE(read.dump().sms[1].exception);
        CHECK_FALSE(read.dump().sms[1].error_pc);
        CHECK_FALSE(read.dump().meta);
        const std::vector<Fault> faults = read.faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].exception == 14);  // from the lanes
        CHECK(read.dump().grids[0].blocks == Dim3{40, 1, 1});
    }
    SECTION("cut within an entry's members: the rest does not exist") {
        writer.entry_bytes = [](std::uint32_t type, std::size_t usual) {
            return type == kGridsType ? 80 : type == kSmsType ? 16 : type == kLanesType ? 34 : usual;
        };
        const Read read(writer);
        CHECK_FALSE(read.dump().grids[0].blocks);
        CHECK(read.dump().sms[1].exception == 14);
        CHECK_FALSE(read.dump().sms[1].error_pc);
        CHECK_FALSE(read.dump().lanes[0].exception);
        CHECK(read.faults()[0].threads_kind == ThreadsKind::active);
    }
}

TEST_CASE("Without lanes there are no threads, and without an error PC the stop PC of a thread counts") {
    DumpWriter writer = usual_dump();
    DumpWarp& faulty = writer.devices[0].sms[1].blocks[0].warps[1];
    SECTION("no lanes") {
        faulty.lanes.clear();
        const std::vector<Fault> faults = Read(writer).faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].threads_kind == ThreadsKind::none);
        CHECK(faults[0].threads.empty());
        CHECK(faults[0].pc_kind == PcKind::error);
        CHECK(faults[0].exception == 14);  // from the SM
    }
    SECTION("no lane with an exception: the active ones are candidates") {
        faulty.active = 0b1010;
        for (DumpLane& lane : faulty.lanes)
            lane.exception = 0;
        const std::vector<Fault> faults = Read(writer).faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].threads_kind == ThreadsKind::active);
        CHECK(faults[0].threads == std::vector<Dim3>{{33, 0, 0}, {35, 0, 0}});
    }
    SECTION("no error PC") {
        faulty.error_pc.reset();
        const std::vector<Fault> faults = Read(writer).faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].pc == kMulAddress + 0x20);
        CHECK(faults[0].pc_kind == PcKind::stopped);
    }
    SECTION("neither: the warp had ended, and its SM has the exception") {
        writer.devices[0].sms[1].blocks.clear();
        const Read read(writer);
        const std::vector<Fault> faults = read.faults();
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].warp == gpu::kNone);
        CHECK(faults[0].block == gpu::kNone);
        CHECK(faults[0].grid == gpu::kNone);
        CHECK(faults[0].kernel.empty());
        REQUIRE(faults[0].place);
        CHECK(faults[0].place->function == "mul");
        CHECK(faults[0].exception_text == "the driver's words");
        writer.devices[0].sms[1].error_pc.reset();
        CHECK(Read(writer).faults()[0].pc_kind == PcKind::none);
        writer.devices[0].sms[1].exception = 0;
        CHECK(Read(writer).faults().empty());
    }
}

TEST_CASE("A fault in a function that the kernel called is placed there, and the kernel is named") {
    DumpWriter writer = usual_dump();
    writer.devices[0].sms[1].blocks[0].warps[1].error_pc = kAddAddress + 0x1f0;
    const Read read(writer);
    const Fault fault = read.faults().at(0);
    CHECK(fault.kernel == "mul");
    REQUIRE(fault.place);
    CHECK(fault.place->function == "add");
    CHECK(fault.place->offset == 0x1f0);
}

TEST_CASE("A PC between functions and an entry without an image belong to none") {
    DumpWriter writer = usual_dump();
    writer.devices[0].sms[1].blocks[0].warps[1].error_pc = kAddAddress + 0x200;
    writer.devices[0].grids[0].entry = kMulAddress + 8;
    const Fault fault = Read(writer).faults().at(0);
    CHECK(fault.kernel.empty());
    CHECK_FALSE(fault.place);
}

TEST_CASE("Several devices each have their own grids and code") {
    DumpWriter writer = usual_dump();
    DumpDevice second = writer.devices[0];
    second.name = "NVIDIA B200";
    second.contexts[0].modules[1].image = module_image({{"elsewhere", 0x200, kMulAddress}});
    second.grids[0].blocks = {3, 2, 1};
    writer.devices.insert(writer.devices.begin(), second);
    const Read read(writer);
    const std::vector<Fault> faults = read.faults();
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].kernel == "elsewhere");
    CHECK(read.dump().devices[faults[0].device].name == "NVIDIA B200");
    CHECK(read.dump().grids[faults[0].grid].blocks == Dim3{3, 2, 1});
    CHECK(faults[1].kernel == "mul");
    CHECK(read.dump().grids[faults[1].grid].blocks == Dim3{40, 1, 1});
}

TEST_CASE("A dump of the usual kind is read completely") {
    const bool counted_elsewhere = GENERATE(false, true);
    DumpWriter writer = usual_dump();
    writer.counts_in_first_section = counted_elsewhere;
    const Read read(writer);
    const GpuDump& dump = read.dump();
    CHECK(dump.notes.empty());
    REQUIRE(dump.meta);
    CHECK(dump.meta->driver.major == 580);
    CHECK(dump.meta->driver.minor == 159);
    CHECK(dump.meta->cuda.major == 13);
    CHECK(dump.meta->time == 1'790'000'000);
    CHECK(dump.devices.at(0).name == "NVIDIA H200");
    CHECK(dump.devices[0].architecture == "sm_90");
    CHECK(dump.contexts.at(0).id == 0xc0);
    CHECK(dump.contexts[0].host_thread == 4242);
    REQUIRE(dump.modules.size() == 2);
    CHECK(dump.modules[1].handle == 0xabc);
    CHECK_FALSE(dump.modules[1].image.empty());
    const gpu::Grid& grid = dump.grids.at(0);
    CHECK(grid.id == 7);
    CHECK(grid.context == 0xc0);
    CHECK(grid.module == 0xabc);
    CHECK(grid.parent == 0);
    CHECK(grid.threads == Dim3{128, 1, 1});
    CHECK(grid.parameters.size() == 16);
    CHECK(dump.warps.size() == 2);
    CHECK(dump.lanes.size() == 5);
    CHECK(dump.lanes[0].registers.empty());

    const std::vector<Fault> faults = read.faults();
    REQUIRE(faults.size() == 1);
    const Fault& fault = faults[0];
    CHECK(dump.sms[fault.sm].id == 9);
    CHECK(dump.warps[fault.warp].id == 1);
    CHECK(dump.blocks[fault.block].index == Dim3{9, 0, 0});
    CHECK(fault.grid == 0);
    CHECK(fault.exception == 14);
    CHECK(fault.exception_text == "the driver's words");
    CHECK(fault.pc == kMulAddress + 0x10);
    CHECK(fault.pc_kind == PcKind::error);
    CHECK(fault.kernel == "mul");
    REQUIRE(fault.place);
    CHECK(fault.place->function == "mul");
    CHECK(fault.place->offset == 0x10);
    CHECK(fault.place->module == 1);
    CHECK(fault.threads_kind == ThreadsKind::faulted);
    CHECK(fault.threads == std::vector<Dim3>{{32, 0, 0}, {33, 0, 0}});
}

TEST_CASE("Every exception has a name and a meaning, including future numbers") {
    for (std::uint32_t code = 1; code <= 36; ++code) {
        CAPTURE(code);
        CHECK(gpu::exception_info(code).code == code);
        CHECK(std::string(gpu::exception_info(code).meaning).size() > 10);
        CHECK(gpu::exception_info(code).blame != gpu::Blame::unknown);
    }
    CHECK(gpu::exception_name(14) == "illegal address (14)");
    CHECK(gpu::exception_name(77) == "unknown exception (77)");
    CHECK(gpu::exception_info(32).blame == gpu::Blame::hardware);
}

TEST_CASE("Registers and predicates are those of their lane, and uniform registers those of their warp") {
    DumpWriter writer = usual_dump();
    DumpWarp& warp = writer.devices[0].sms[1].blocks[0].warps[1];
    warp.uniform_registers = {5, 6};
    for (DumpLane& lane : warp.lanes) {
        lane.registers = {10 * lane.id, 10 * lane.id + 1};
        lane.predicates = {lane.id % 2};
    }
    const Read read(writer);
    const GpuDump& dump = read.dump();
    CHECK(dump.notes.empty());
    CHECK(dump.warps.at(0).uniform_registers.empty());
    CHECK(GpuDump::register_of(dump.warps.at(1).uniform_registers, 1) == 6);
    CHECK(dump.lanes.at(0).registers.empty());
    for (std::uint32_t i = 0; i < 4; ++i) {
        const gpu::Lane& lane = dump.lanes.at(1 + i);
        CHECK(GpuDump::register_of(lane.registers, 1) == 10 * i + 1);
        CHECK(GpuDump::register_of(lane.predicates, 0) == i % 2);
        CHECK_FALSE(GpuDump::register_of(lane.registers, 2));
    }
}

}  // namespace aoti_dbg::test::gpu_dump_test
