// Dumps that driver 580 wrote on an H200 (data/gpu_dumps), compared with cuda-gdb's output for the same
// files.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "binary/line_table.hpp"
#include "gpu_dump/gpu_running.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::gpu_dump_recorded_test {

using gpu::Fault;

namespace {

std::uint64_t number_at(const std::string& bytes, std::size_t offset) {
    std::uint64_t number = 0;
    REQUIRE(offset + sizeof number <= bytes.size());
    std::memcpy(&number, bytes.data() + offset, sizeof number);
    return number;
}

/// The original dump. The file has its length, then the nonzero pieces, each behind its offset and length.
std::string recorded(const std::string& name) {
    std::ifstream file(std::string(places::kTestData) + "/gpu_dumps/" + name + ".runs", std::ios::binary);
    const std::string pieces{std::istreambuf_iterator<char>(file), {}};
    std::string dump(number_at(pieces, 0), '\0');
    for (std::size_t at = 8; at < pieces.size();) {
        const std::uint64_t offset = number_at(pieces, at);
        const std::uint64_t bytes = number_at(pieces, at + 8);
        REQUIRE(offset + bytes <= dump.size());
        dump.replace(offset, bytes, pieces, at + 16, bytes);
        at += 16 + bytes;
    }
    return dump;
}

/// A dump of one fault, or of one running kernel, and the facts derived from it.
struct Recorded {
    explicit Recorded(const std::string& name)
        : bytes(recorded(name)), result(gpu::read_gpu_dump(std::as_bytes(std::span(bytes)))) {
        REQUIRE(result.ok());
        const gpu::CodeMap code(dump());
        const std::vector<Fault> faults = gpu::faults(dump(), code);
        running = gpu::running(dump(), code);
        REQUIRE(faults.size() + (faults.empty() ? running.size() : 0) == 1);
        fault = faults.empty() ? running.front().at : faults.front();
    }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;

    [[nodiscard]] const gpu::GpuDump& dump() const { return result.value(); }
    /// "file:line" and, if it was inlined, " < " and the line of the call.
    [[nodiscard]] std::string lines() const {
        REQUIRE(fault.place);
        const Result<elf::File> image = elf::File::open(dump().modules[fault.place->module].image);
        REQUIRE(image.ok());
        const Result<LineTable> table = LineTable::open(image.value());
        REQUIRE(table.ok());
        std::string text;
        for (const SourceLine& line : table.value().find(fault.place->section, fault.place->section_offset))
            text += (text.empty() ? "" : " < ") + line.file.substr(line.file.rfind('/') + 1) + ":" +
                    std::to_string(line.line);
        return text;
    }

    std::string bytes;
    Result<gpu::GpuDump> result;
    std::vector<gpu::Running> running;
    Fault fault;
};

}  // namespace

// Focus set to CUDA kernel 0, grid 67, block (6,0,0), thread (96,0,0), device 0, sm 130, warp 0, lane 0
// CUDA Exception: Warp Illegal Address
// The exception was triggered at PC 0x7f4e777a4a40  step_4  (fault_victim.cu:36 in [...]go_wrongEiPfPc
//   inlined from fault_victim.cu:61)
// #0  step_5<<<(64,1,1),(256,1,1)>>> () at [...]/tests/gpu/fault_victim.cu:62
// errorpc        0x7f4e777a4a40      0x7f4e777a4a40 <step_4+576>
TEST_CASE("A late store's exception is reported in the next kernel, and the error PC names the faulted one") {
    const Recorded dump("late_store");
    const Fault& fault = dump.fault;
    CHECK(fault.kernel == "step_4");
    CHECK(fault.exception == 14);
    CHECK(fault.pc == 0x7f4e777a4a40);
    CHECK(fault.pc_kind == gpu::PcKind::error);
    REQUIRE(fault.place);
    CHECK(fault.place->function == "step_4");
    CHECK(fault.place->is_kernel);
    CHECK(fault.place->offset == 576);
    CHECK(dump.lines() == "fault_victim.cu:36 < fault_victim.cu:61");
    CHECK(dump.dump().sms.at(fault.sm).id == 130);
    // Grid, block and threads of cuda-gdb's focus are the next kernel's.
    CHECK(fault.grid == gpu::kNone);
    REQUIRE(fault.later_grid != gpu::kNone);
    CHECK(dump.dump().grids.at(fault.later_grid).id == 67);
    CHECK(fault.threads.empty());
}

// Focus set to CUDA kernel 0, grid 65, block (2,0,0), thread (5,0,0), device 0, sm 130, warp 0, lane 5
// Program terminated with signal SIGTRAP, Trace/breakpoint trap.
// #0  step_4<<<(64,1,1),(256,1,1)>>> () at [...]/fault_victim.cu:35 in [...]go_wrongEiPfPc
//   inlined from fault_victim.cu:61
// *  5 active 0x00007fc8fb7a4d70   (5,0,0)    None
// => 0x7fc8fb7a4d70 <step_4+1392>
TEST_CASE("A kernel that stopped itself has no exception, but the thread that did it") {
    const Recorded dump("trap");
    const Fault& fault = dump.fault;
    CHECK(fault.is_trap);
    CHECK_FALSE(fault.exception);
    CHECK(fault.kernel == "step_4");
    CHECK(fault.pc == 0x7fc8fb7a4d70);
    CHECK(fault.pc_kind == gpu::PcKind::stopped);
    REQUIRE(fault.place);
    CHECK(fault.place->function == "step_4");
    CHECK(fault.place->offset == 1392);
    CHECK(dump.lines() == "fault_victim.cu:35 < fault_victim.cu:61");
    CHECK(dump.dump().sms.at(fault.sm).id == 130);
    CHECK(dump.dump().warps.at(fault.warp).id == 0);
    REQUIRE(fault.grid != gpu::kNone);
    const gpu::Grid& grid = dump.dump().grids.at(fault.grid);
    CHECK(grid.id == 65);
    CHECK(grid.blocks == gpu::Dim3{64, 1, 1});
    CHECK(grid.threads == gpu::Dim3{256, 1, 1});
    CHECK(dump.dump().blocks.at(fault.block).index == gpu::Dim3{2, 0, 0});
    CHECK(fault.threads == std::vector<gpu::Dim3>{{5, 0, 0}});
}

// CUDA Exception: Warp Illegal Address
// The exception was triggered at PC 0x7fde377a0ea0  put_kernel
//   (cwh3ihnghe73gi6wjp7jluyhmkw3vupzijwuzlgw5s3yo64lyr52.py:23)
// cuda-gdb then aborts, because the dump has no warp.
TEST_CASE("A store whose warp has ended leaves the instruction in its SM, and no launch") {
    const Recorded dump("ended_warp");
    const Fault& fault = dump.fault;
    CHECK(fault.kernel == "put_kernel");
    CHECK(fault.exception == 14);
    CHECK(fault.pc == 0x7fde377a0ea0);
    CHECK(fault.pc_kind == gpu::PcKind::error);
    REQUIRE(fault.place);
    CHECK(fault.place->function == "put_kernel");
    CHECK(fault.place->is_kernel);
    CHECK(dump.lines() == "cwh3ihnghe73gi6wjp7jluyhmkw3vupzijwuzlgw5s3yo64lyr52.py:23");
    CHECK(fault.warp == gpu::kNone);
    CHECK(fault.grid == gpu::kNone);
    CHECK(fault.later_grid == gpu::kNone);
}

// The pipe requested this dump while launch 61 of a hundred, on three streams, was looping. The program says
// line 88, inlined at 110. Images of other modules are left out.
TEST_CASE("For a kernel that does not end, the dump has the launch, the thread and the looping line") {
    const Recorded dump("hang");
    const Fault& at = dump.fault;
    CHECK(at.kernel == "step_5");
    CHECK_FALSE(at.exception);
    CHECK_FALSE(at.is_trap);
    CHECK(dump.lines() == "fault_victim.cu:88 < fault_victim.cu:110");
    REQUIRE(at.grid != gpu::kNone);
    CHECK(dump.dump().grids.at(at.grid).id == 66);
    CHECK(dump.dump().blocks.at(at.block).index == gpu::Dim3{2, 0, 0});
    CHECK(at.threads == std::vector<gpu::Dim3>{{5, 0, 0}});
    CHECK(dump.running.front().warps == 1);
    CHECK(dump.running.front().blocks == 1);
    CHECK(dump.running.front().warps_there == 1);
}

TEST_CASE("All driver and device facts are read, without a leftover to note") {
    for (const char* name : {"late_store", "trap", "ended_warp", "hang"}) {
        CAPTURE(name);
        const Recorded dump(name);
        REQUIRE(dump.dump().meta);
        CHECK(dump.dump().meta->driver.major == 580);
        CHECK(dump.dump().meta->driver.minor == 159);
        CHECK(dump.dump().meta->cuda.major == 13);
        CHECK(dump.dump().devices.at(0).name == "NVIDIA H200");
        CHECK(dump.dump().sms.size() == 132);
        CHECK(dump.dump().notes.empty());
    }
}

}  // namespace aoti_dbg::gpu_dump_recorded_test
