// Writes GPU core dumps by hand to test their readers, in the layout of the toolkit's cudacoredump.h. It must
// share no code with the reader, so that each checks the other. No driver wrote any of these bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/elf_writer.hpp"

namespace aoti_dbg::test {

using Triple = std::array<std::uint32_t, 3>;

struct DumpLane {
    std::uint32_t id = 0;
    std::uint64_t pc = 0;
    Triple thread{};
    std::uint32_t exception = 0;
    std::vector<std::uint32_t> registers = {};
    std::vector<std::uint32_t> predicates = {};
};

struct DumpWarp {
    std::uint32_t id = 0;
    std::uint32_t valid = 0xffffffff;
    std::uint32_t active = 0xffffffff;
    std::optional<std::uint64_t> error_pc;
    std::vector<DumpLane> lanes;
    bool is_broken = false;
    std::vector<std::uint32_t> uniform_registers = {};
};

struct DumpBlock {
    std::uint64_t grid = 1;
    Triple index{};
    std::vector<DumpWarp> warps;
};

struct DumpSm {
    std::uint32_t id = 0;
    std::uint32_t exception = 0;
    std::optional<std::uint64_t> error_pc;
    std::string text;
    std::vector<DumpBlock> blocks;
};

struct DumpGrid {
    std::uint64_t id = 1;
    std::uint64_t context = 0xc0;
    std::uint64_t entry = 0;
    std::uint64_t module = 0xabc;
    Triple blocks{40, 1, 1};
    Triple threads{128, 1, 1};
    std::string parameters;
};

struct DumpModule {
    std::uint64_t handle = 0xabc;
    std::string image;
};

struct DumpContext {
    std::uint64_t id = 0xc0;
    std::vector<DumpModule> modules;
};

struct DumpDevice {
    std::string name = "NVIDIA H200";
    std::string architecture = "sm_90";
    std::vector<DumpContext> contexts;
    std::vector<DumpGrid> grids;
    std::vector<DumpSm> sms;
};

inline constexpr std::uint32_t kDumpTypes = 0x80000000;
inline constexpr std::uint32_t kDevicesType = kDumpTypes + 9;
inline constexpr std::uint32_t kSmsType = kDumpTypes + 11;
inline constexpr std::uint32_t kGridsType = kDumpTypes + 12;
inline constexpr std::uint32_t kBlocksType = kDumpTypes + 13;
inline constexpr std::uint32_t kWarpsType = kDumpTypes + 14;
inline constexpr std::uint32_t kLanesType = kDumpTypes + 15;

class DumpWriter {
  public:
    std::vector<DumpDevice> devices;
    bool has_meta = true;
    bool counts_in_first_section = false;
    /// Returns the entry length of a table, from its type and the usual length (driver 580).
    std::function<std::size_t(std::uint32_t, std::size_t)> entry_bytes =
        [](std::uint32_t, std::size_t usual) { return usual; };
    /// Changes the file last, before it is written.
    std::function<void(ElfWriter&)> finish = [](ElfWriter&) {};

    [[nodiscard]] std::string bytes() {
        ElfWriter file(4, 190);
        strings_.assign(1, '\0');
        const std::uint32_t strings = file.add({".strtab", 3, {}});
        if (has_meta) {
            Packed meta;
            meta.u64(0).u32(580).u32(159).u32(13).u32(0).u32(0).u32(1'790'000'000);
            file.add({".cudbg.meta", kDumpTypes + 22, meta.bytes(), 0, 0, 0, 0, 32});
        }
        std::vector<Packed> rows;
        for (std::size_t i = 0; i < devices.size(); ++i) {
            Packed row;
            row.u64(text(devices[i].name)).u64(0).u64(text(devices[i].architecture)).u32(i);
            rows.push_back(row.resize(88));
        }
        const std::uint32_t table = add(file, ".cudbg.devtbl", 9, rows, 0, 0);
        for (std::uint32_t i = 0; i < devices.size(); ++i)
            write_device(file, devices[i], table, i);
        file.section(strings).content = strings_;
        file.counts_in_first_section = counts_in_first_section;
        finish(file);
        return file.bytes();
    }

  private:
    std::uint64_t text(const std::string& value) {
        const std::uint64_t offset = strings_.size();
        strings_ += value + '\0';
        return offset;
    }

    std::uint32_t add(ElfWriter& file, const std::string& name, std::uint32_t kind, std::vector<Packed>& rows,
                      std::uint32_t link, std::uint32_t info) const {
        std::string content;
        std::size_t bytes = 0;
        for (Packed& row : rows) {
            bytes = entry_bytes(kDumpTypes + kind, row.bytes().size());
            content += row.resize(bytes).bytes();
        }
        return file.add({name, kDumpTypes + kind, content, 0, 0, link, info, bytes});
    }

    void write_device(ElfWriter& file, const DumpDevice& device, std::uint32_t table, std::uint32_t number) {
        const std::string suffix = ".dev" + std::to_string(number);
        std::vector<Packed> rows;
        for (const DumpContext& context : device.contexts) {
            Packed row;
            rows.push_back(row.u64(context.id).u64(0).u64(0).u64(0).u32(number).u32(4242));
        }
        const std::uint32_t contexts = add(file, ".cudbg.ctxtbl" + suffix, 10, rows, table, number);
        for (std::uint32_t i = 0; i < device.contexts.size(); ++i)
            write_modules(file, device.contexts[i], contexts, i, suffix + ".ctx" + std::to_string(i));

        rows.clear();
        for (const DumpGrid& grid : device.grids) {
            Packed row;
            row.u64(grid.id).u64(grid.context).u64(0xf00).u64(grid.entry).u64(grid.module).u64(0).u64(0x210);
            row.u32(1).u32(1).u32(2).u32(32);
            for (const std::uint32_t dim : grid.blocks)
                row.u32(dim);
            for (const std::uint32_t dim : grid.threads)
                row.u32(dim);
            rows.push_back(row.resize(136));
        }
        const std::uint32_t grids = add(file, ".cudbg.gridtbl" + suffix, 12, rows, table, number);
        for (std::uint32_t i = 0; i < device.grids.size(); ++i) {
            if (device.grids[i].parameters.empty()) continue;
            file.add({".cudbg.param" + suffix + ".grid" + std::to_string(i), kDumpTypes + 18,
                      device.grids[i].parameters, 0, 0, grids, i});
        }

        rows.clear();
        for (const DumpSm& sm : device.sms) {
            Packed row;
            row.u32(sm.id).u32(0).u32(sm.exception).u32(sm.error_pc ? 1 : 0).u64(sm.error_pc.value_or(0));
            row.resize(40).u64(sm.text.empty() ? 0 : text(sm.text));
            rows.push_back(row);
        }
        const std::uint32_t sms = add(file, ".cudbg.smtbl" + suffix, 11, rows, table, number);
        for (std::uint32_t i = 0; i < device.sms.size(); ++i)
            write_blocks(file, device.sms[i], sms, i, suffix + ".sm" + std::to_string(i));
    }

    void write_modules(ElfWriter& file, const DumpContext& context, std::uint32_t table, std::uint32_t number,
                       const std::string& suffix) {
        std::vector<Packed> rows;
        for (const DumpModule& module : context.modules) {
            Packed row;
            rows.push_back(row.u64(module.handle));
        }
        const std::uint32_t modules = add(file, ".cudbg.modtbl" + suffix, 16, rows, table, number);
        for (std::uint32_t i = 0; i < context.modules.size(); ++i) {
            if (context.modules[i].image.empty()) continue;
            file.add({".cudbg.relfimg" + suffix, kDumpTypes + 7, context.modules[i].image, 0, 0, modules, i});
        }
    }

    void write_blocks(ElfWriter& file, const DumpSm& sm, std::uint32_t table, std::uint32_t number,
                      const std::string& suffix) {
        if (sm.blocks.empty()) return;
        std::vector<Packed> rows;
        for (const DumpBlock& block : sm.blocks) {
            Packed row;
            row.u64(block.grid);
            for (const std::uint32_t index : block.index)
                row.u32(index);
            rows.push_back(row.resize(56));
        }
        const std::uint32_t blocks = add(file, ".cudbg.ctatbl" + suffix, 13, rows, table, number);
        for (std::uint32_t i = 0; i < sm.blocks.size(); ++i)
            write_warps(file, sm.blocks[i], blocks, i, suffix + ".cta" + std::to_string(i));
    }

    void write_warps(ElfWriter& file, const DumpBlock& block, std::uint32_t table, std::uint32_t number,
                     const std::string& suffix) {
        if (block.warps.empty()) return;
        std::vector<Packed> rows;
        for (const DumpWarp& warp : block.warps) {
            Packed row;
            row.u64(warp.error_pc.value_or(0))
                .u32(warp.id)
                .u32(warp.valid)
                .u32(warp.active)
                .u32(warp.is_broken ? 1 : 0);
            row.u32(warp.error_pc ? 1 : 0);
            rows.push_back(row.resize(64));
        }
        const std::uint32_t warps = add(file, ".cudbg.wptbl" + suffix, 14, rows, table, number);
        for (std::uint32_t i = 0; i < block.warps.size(); ++i) {
            add_words(file, ".cudbg.uregs" + suffix, 19, block.warps[i].uniform_registers, warps, i);
            if (block.warps[i].lanes.empty()) continue;
            rows.clear();
            for (const DumpLane& lane : block.warps[i].lanes) {
                Packed row;
                row.u64(lane.pc).u64(0).u32(lane.id);
                for (const std::uint32_t index : lane.thread)
                    row.u32(index);
                rows.push_back(row.u32(lane.exception).resize(56));
            }
            const std::uint32_t lanes =
                add(file, ".cudbg.lntbl" + suffix + ".wp" + std::to_string(i), 15, rows, warps, i);
            for (std::uint32_t lane = 0; lane < block.warps[i].lanes.size(); ++lane) {
                const DumpLane& written = block.warps[i].lanes[lane];
                add_words(file, ".cudbg.regs" + suffix, 5, written.registers, lanes, lane);
                add_words(file, ".cudbg.pred" + suffix, 17, written.predicates, lanes, lane);
            }
        }
    }

    static void add_words(ElfWriter& file, const std::string& name, std::uint32_t kind,
                          const std::vector<std::uint32_t>& words, std::uint32_t link, std::uint32_t info) {
        if (words.empty()) return;
        Packed content;
        for (const std::uint32_t word : words)
            content.u32(word);
        file.add({name, kDumpTypes + kind, content.bytes(), 0, 0, link, info, 4});
    }

    std::string strings_;
};

inline constexpr std::uint64_t kAddAddress = 0x7f4900001000;
inline constexpr std::uint64_t kMulAddress = 0x7f4900004000;

/// Returns the dump of a typical fault: block 9 of a grid of `mul`, lanes 0 and 1 of its second warp, at byte
/// 0x10 of the kernel. Another warp of that block and a neighboring SM are intact.
inline DumpWriter usual_dump() {
    DumpWarp sound;
    sound.lanes.push_back({0, kMulAddress + 0x40, {0, 0, 0}, 0});
    DumpWarp faulty;
    faulty.id = 1;
    faulty.error_pc = kMulAddress + 0x10;
    for (std::uint32_t i = 0; i < 4; ++i)
        faulty.lanes.push_back({i, kMulAddress + 0x20, {32 + i, 0, 0}, i < 2 ? 14U : 0U});
    DumpSm sm;
    sm.id = 9;
    sm.exception = 14;
    sm.error_pc = kMulAddress + 0x10;
    sm.text = "the driver's words";
    sm.blocks.push_back({7, {9, 0, 0}, {sound, faulty}});
    DumpSm idle;
    idle.id = 4;
    DumpGrid grid;
    grid.id = 7;
    grid.entry = kMulAddress;
    grid.parameters = "sixteen bytes...";
    DumpContext context;
    context.modules = {{0xabb, module_image({{"other", 0x80, 0x7f4900009000}})},
                       {0xabc, module_image({{"add", 0x200, kAddAddress}, {"mul", 0x200, kMulAddress}})}};
    DumpDevice device;
    device.contexts = {context};
    device.grids = {grid};
    device.sms = {idle, sm};
    DumpWriter writer;
    writer.devices = {device};
    return writer;
}

}  // namespace aoti_dbg::test
