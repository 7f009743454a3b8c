// The faulted kernel in dumps as driver 580 writes them on an H200: a kernel that has ended, one whose
// exception met the next kernel, and one that stopped itself. The dumps are written by hand;
// gpu_dump_recorded_test has real ones.
#include "gpu_dump/gpu_faults.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/gpu_dump_writer.hpp"

namespace aoti_dbg::test::gpu_faults_test {

using gpu::Fault;
using gpu::PcKind;
using gpu::ThreadsKind;

namespace {

constexpr std::uint64_t kHelperAddress = 0x7f4900007000;

struct Read {
    explicit Read(DumpWriter writer)
        : bytes(writer.bytes()),
          result(gpu::read_gpu_dump(std::as_bytes(std::span(bytes.data(), bytes.size())))) {
        REQUIRE(result.ok());
        faults = gpu::faults(result.value(), gpu::CodeMap(result.value()));
    }
    Read(const Read&) = delete;
    Read& operator=(const Read&) = delete;
    [[nodiscard]] std::uint64_t grid_id(gpu::Index grid) const { return result.value().grids.at(grid).id; }

    std::string bytes;
    Result<gpu::GpuDump> result;
    std::vector<Fault> faults;
};

/// As usual_dump(), but `add` and `mul` are kernels, and `helper` is a function that they call.
DumpWriter dump_of_kernels() {
    DumpWriter writer = usual_dump();
    writer.devices[0].contexts[0].modules[1].image = module_image({{"add", 0x200, kAddAddress, true},
                                                                   {"mul", 0x200, kMulAddress, true},
                                                                   {"helper", 0x200, kHelperAddress}});
    return writer;
}

DumpSm& sm_of(DumpWriter& writer) {
    return writer.devices[0].sms[1];
}
DumpWarp& warp_of(DumpWriter& writer) {
    return sm_of(writer).blocks[0].warps[1];
}

/// No warp has an exception, and one warp of `mul` has stopped at a trap.
DumpWriter dump_of_trap() {
    DumpWriter writer = dump_of_kernels();
    sm_of(writer).exception = 0;
    sm_of(writer).error_pc.reset();
    sm_of(writer).text.clear();
    DumpWarp& warp = warp_of(writer);
    warp.error_pc.reset();
    warp.is_broken = true;
    warp.active = 0b0110;
    for (DumpLane& lane : warp.lanes)
        lane.exception = 0;
    return writer;
}

}  // namespace

TEST_CASE("The faulted kernel is that of the error PC, not the next kernel, whose warp has the exception") {
    DumpWriter writer = dump_of_kernels();
    warp_of(writer).error_pc = sm_of(writer).error_pc = kAddAddress + 0x30;
    const Read read(writer);
    REQUIRE(read.faults.size() == 1);
    const Fault& fault = read.faults.front();
    CHECK(fault.kernel == "add");
    CHECK(fault.pc == kAddAddress + 0x30);
    CHECK(fault.pc_kind == PcKind::error);
    CHECK(fault.exception == 14);
    REQUIRE(fault.place);
    CHECK(fault.place->function == "add");
    CHECK(fault.place->is_kernel);
    CHECK(fault.place->offset == 0x30);
    // Block, threads and number belong to the other kernel.
    CHECK(fault.grid == gpu::kNone);
    CHECK(fault.warp == gpu::kNone);
    CHECK(fault.block == gpu::kNone);
    CHECK(fault.threads.empty());
    CHECK(fault.threads_kind == ThreadsKind::none);
    REQUIRE(fault.later_grid != gpu::kNone);
    CHECK(read.grid_id(fault.later_grid) == 7);
}

TEST_CASE("If the next kernel is another launch of the same one, the two cannot be distinguished") {
    DumpWriter writer = dump_of_kernels();
    const Read read(writer);
    REQUIRE(read.faults.size() == 1);
    CHECK(read.faults[0].kernel == "mul");
    CHECK(read.faults[0].later_grid == gpu::kNone);
    CHECK(read.grid_id(read.faults[0].grid) == 7);
}

TEST_CASE("The kernel of an ended warp is that of its SM's error PC, and has no number") {
    DumpWriter writer = dump_of_kernels();
    sm_of(writer).blocks.clear();
    SECTION("beside a grid without a fault") {}
    SECTION("without any grid") {
        writer.devices[0].grids.clear();
    }
    const Read read(writer);
    REQUIRE(read.faults.size() == 1);
    const Fault& fault = read.faults.front();
    CHECK(fault.kernel == "mul");
    CHECK(fault.exception == 14);
    CHECK(fault.exception_text == "the driver's words");
    CHECK(fault.grid == gpu::kNone);
    CHECK(fault.later_grid == gpu::kNone);
    CHECK(fault.block == gpu::kNone);
}

TEST_CASE("A PC in a function that is no kernel names no kernel, and leaves a grid's kernel as it is") {
    DumpWriter writer = dump_of_kernels();
    warp_of(writer).error_pc = sm_of(writer).error_pc = kHelperAddress + 0x40;
    SECTION("in a grid") {
        const Read read(writer);
        REQUIRE(read.faults.size() == 1);
        CHECK(read.faults[0].kernel == "mul");
        CHECK(read.faults[0].later_grid == gpu::kNone);
        CHECK(read.grid_id(read.faults[0].grid) == 7);
        CHECK(read.faults[0].place->function == "helper");
        CHECK_FALSE(read.faults[0].place->is_kernel);
        CHECK(read.faults[0].threads.size() == 2);
    }
    SECTION("its warp has ended") {
        sm_of(writer).blocks.clear();
        const Read read(writer);
        REQUIRE(read.faults.size() == 1);
        CHECK(read.faults[0].kernel.empty());
        CHECK(read.faults[0].place->function == "helper");
    }
}

TEST_CASE("The PC of a warp that merely stopped does not blame another kernel") {
    DumpWriter writer = dump_of_kernels();
    DumpWarp& warp = warp_of(writer);
    warp.error_pc.reset();
    for (DumpLane& lane : warp.lanes)
        lane.pc = kAddAddress + 0x20;
    const Read read(writer);
    REQUIRE(read.faults.size() == 1);
    CHECK(read.faults[0].pc_kind == PcKind::stopped);
    CHECK(read.faults[0].kernel == "mul");
    CHECK(read.faults[0].later_grid == gpu::kNone);
}

TEST_CASE("A kernel that stopped itself has no exception, but a PC, active threads and a launch") {
    const Read read(dump_of_trap());
    REQUIRE(read.faults.size() == 1);
    const Fault& fault = read.faults.front();
    CHECK(fault.is_trap);
    CHECK_FALSE(fault.exception);
    CHECK(fault.kernel == "mul");
    CHECK(fault.pc == kMulAddress + 0x20);
    CHECK(fault.pc_kind == PcKind::stopped);
    CHECK(fault.threads == std::vector<gpu::Dim3>{{33, 0, 0}, {34, 0, 0}});
    CHECK(fault.threads_kind == ThreadsKind::active);
    CHECK(read.grid_id(fault.grid) == 7);
}

TEST_CASE("A trap beside an exception is not reported, because the exception stopped those warps") {
    DumpWriter writer = dump_of_kernels();
    sm_of(writer).blocks[0].warps[0].is_broken = true;
    SECTION("its warp exists") {}
    SECTION("its warp has ended") {
        DumpSm trapped = sm_of(writer);
        trapped.id = 11;
        trapped.exception = 0;
        trapped.error_pc.reset();
        trapped.blocks[0].warps.pop_back();
        sm_of(writer).blocks.clear();
        writer.devices[0].sms.push_back(trapped);
    }
    const Read read(writer);
    REQUIRE(read.faults.size() == 1);
    CHECK_FALSE(read.faults[0].is_trap);
    CHECK(read.faults[0].exception == 14);
}

TEST_CASE("A trap without lanes or without an active lane has no PC and no threads") {
    DumpWriter writer = dump_of_trap();
    SECTION("no lanes") {
        warp_of(writer).lanes.clear();
    }
    SECTION("none active") {
        warp_of(writer).active = 0;
    }
    const Read read(writer);
    REQUIRE(read.faults.size() == 1);
    CHECK(read.faults[0].is_trap);
    CHECK_FALSE(read.faults[0].pc);
    CHECK(read.faults[0].pc_kind == PcKind::none);
    CHECK(read.faults[0].threads_kind == ThreadsKind::none);
    CHECK(read.faults[0].kernel == "mul");
}

TEST_CASE("Without an exception and without a trap, nothing is at fault") {
    DumpWriter writer = dump_of_trap();
    warp_of(writer).is_broken = false;
    CHECK(Read(writer).faults.empty());
}

}  // namespace aoti_dbg::test::gpu_faults_test
