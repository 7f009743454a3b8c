// The running kernels and their places, in dumps requested from the driver. Written by hand.
#include "gpu_dump/gpu_running.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/gpu_dump_writer.hpp"

namespace aoti_dbg::test::gpu_running_test {

using gpu::Dim3;
using gpu::Running;

namespace {

struct Read {
    explicit Read(DumpWriter writer)
        : bytes(writer.bytes()),
          result(gpu::read_gpu_dump(std::as_bytes(std::span(bytes.data(), bytes.size())))) {
        REQUIRE(result.ok());
        const gpu::CodeMap code(result.value());
        CHECK(gpu::faults(result.value(), code).empty());
        running = gpu::running(result.value(), code);
    }
    Read(const Read&) = delete;
    Read& operator=(const Read&) = delete;
    [[nodiscard]] std::uint64_t grid_id(gpu::Index grid) const { return result.value().grids.at(grid).id; }

    std::string bytes;
    Result<gpu::GpuDump> result;
    std::vector<Running> running;
};

DumpWarp warp_at(std::uint32_t id, std::uint64_t pc) {
    DumpWarp warp;
    warp.id = id;
    warp.active = 0b0110;
    for (std::uint32_t i = 0; i < 3; ++i)
        warp.lanes.push_back({i, i == 0 ? kMulAddress : pc, {32 * id + i, 0, 0}});
    return warp;
}

/// Two kernels; the one launched first comes second in the file. `mul` has two blocks on two SMs, with warps
/// at lines 40, 41 and 40 of the module's table. `add` has one warp.
DumpWriter dump_of_two() {
    DumpSm first;
    first.id = 3;
    first.blocks = {{7, {1, 0, 0}, {warp_at(0, kMulAddress + 0x60), warp_at(1, kMulAddress + 0x18)}}};
    DumpSm second;
    second.id = 4;
    second.blocks = {{7, {2, 0, 0}, {warp_at(0, kMulAddress + 0x08)}},
                     {6, {5, 0, 0}, {warp_at(1, kAddAddress + 0x10)}}};
    DumpWriter writer = usual_dump();
    DumpDevice& device = writer.devices[0];
    device.contexts[0].modules[1].image =
        module_image({{"add", 0x200, kAddAddress, true}, {"mul", 0x200, kMulAddress, true}});
    DumpGrid add = device.grids[0];
    add.id = 6;
    add.entry = kAddAddress;
    device.grids.push_back(add);
    device.sms = {first, second};
    return writer;
}

}  // namespace

TEST_CASE("Each running kernel is reported with its extent and the place of most of its warps") {
    const Read read(dump_of_two());
    REQUIRE(read.running.size() == 2);
    const Running& add = read.running.front();
    CHECK(add.at.kernel == "add");
    CHECK(read.grid_id(add.at.grid) == 6);
    CHECK(add.warps == 1);
    CHECK(add.blocks == 1);
    CHECK(add.at.pc == kAddAddress + 0x10);
    const Running& mul = read.running.back();
    CHECK(mul.at.kernel == "mul");
    CHECK(read.grid_id(mul.at.grid) == 7);
    CHECK(mul.warps == 3);
    CHECK(mul.blocks == 2);
    CHECK(mul.warps_there == 2);
    CHECK(mul.at.pc == kMulAddress + 0x60);
    CHECK(mul.at.pc_kind == gpu::PcKind::stopped);
    REQUIRE(mul.at.place);
    CHECK(mul.at.place->offset == 0x60);
    // One of these warps, with its active threads.
    CHECK(read.result.value().blocks.at(mul.at.block).index == Dim3{1, 0, 0});
    CHECK(read.result.value().warps.at(mul.at.warp).id == 0);
    CHECK(mul.at.threads == std::vector<Dim3>{{1, 0, 0}, {2, 0, 0}});
    CHECK_FALSE(mul.at.exception);
}

TEST_CASE("Warps without an active thread and warps of missing grids are ignored") {
    DumpWriter writer = dump_of_two();
    for (DumpSm& sm : writer.devices[0].sms)
        for (DumpBlock& block : sm.blocks)
            for (DumpWarp& warp : block.warps)
                warp.active = 0;
    CHECK(Read(writer).running.empty());
    writer = dump_of_two();
    writer.devices[0].grids.clear();
    CHECK(Read(writer).running.empty());
    writer = dump_of_two();
    writer.devices[0].sms.clear();
    CHECK(Read(writer).running.empty());
}

TEST_CASE("A kernel without an image is reported without a name, one instruction at a time") {
    DumpWriter writer = dump_of_two();
    writer.devices[0].contexts[0].modules.clear();
    const Read read(writer);
    REQUIRE(read.running.size() == 2);
    CHECK(read.running.back().at.kernel.empty());
    CHECK_FALSE(read.running.back().at.place);
    CHECK(read.running.back().at.pc);
    CHECK(read.running.back().warps_there == 1);
    CHECK(read.running.back().warps == 3);
}

}  // namespace aoti_dbg::test::gpu_running_test
