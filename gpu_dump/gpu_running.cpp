// See gpu_running.hpp. A loop has several instructions, so warps are counted by source line if there is a
// line table, and by instruction otherwise.
#include "gpu_dump/gpu_running.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "binary/line_table.hpp"

namespace aoti_dbg::gpu {
namespace {

class RunningFinder {
  public:
    RunningFinder(const GpuDump& dump, const CodeMap& code) : dump_(dump), code_(code) {}

    std::vector<Running> find() {
        for (Index warp = 0; warp < dump_.warps.size(); ++warp)
            note(warp);
        std::vector<Running> found;
        for (Index grid = 0; grid < dump_.grids.size(); ++grid)
            if (const auto kernel = kernels_.find(key_of(dump_.grids[grid])); kernel != kernels_.end())
                found.push_back(kernel_facts(grid, kernel->second));
        std::sort(found.begin(), found.end(), [this](const Running& a, const Running& b) {
            return key_of(dump_.grids[a.at.grid]) < key_of(dump_.grids[b.at.grid]);
        });
        return found;
    }

  private:
    using GridKey = std::pair<Index, std::uint64_t>;  // device and id
    using LineKey = std::pair<std::string, std::uint64_t>;

    struct StalledLine {
        Index first_warp = kNone;
        Index warps = 0;
    };
    struct Kernel {
        std::set<std::tuple<Index, std::uint32_t, std::uint32_t, std::uint32_t>> blocks;
        std::map<LineKey, StalledLine> lines;
        Index warps = 0;
    };

    static GridKey key_of(const Grid& grid) { return {grid.device, grid.id}; }

    /// Returns the warp's first active lane.
    [[nodiscard]] const Lane* lane_of(const Warp& warp) const {
        for (Index i = 0; i < warp.lanes; ++i) {
            const Lane& lane = dump_.lanes[warp.first_lane + i];
            if (is_active(warp, lane)) return &lane;
        }
        return nullptr;
    }

    void note(Index number) {
        const Warp& warp = dump_.warps[number];
        const Lane* const lane = lane_of(warp);
        if (lane == nullptr) return;
        const Block& block = dump_.blocks[warp.block];
        const Index device = dump_.sms[block.sm].device;
        Kernel& kernel = kernels_[{device, block.grid}];
        kernel.blocks.emplace(block.sm, block.index.x, block.index.y, block.index.z);
        ++kernel.warps;
        StalledLine& line = kernel.lines[line_of(device, lane->pc)];
        if (line.warps++ == 0) line.first_warp = number;
    }

    /// Returns the line in the kernel's own source, or the instruction if there is none.
    const LineKey& line_of(Index device, std::uint64_t pc) {
        const auto [known, is_new] = lines_.try_emplace({device, pc}, LineKey{{}, pc});
        if (!is_new) return known->second;
        const std::optional<CodePlace> place = code_.find(device, pc);
        if (!place) return known->second;
        const std::vector<SourceLine> frames = source_lines(dump_, *place);
        if (!frames.empty()) known->second = {frames.back().file + ':', frames.back().line};
        return known->second;
    }

    [[nodiscard]] Running kernel_facts(Index grid, const Kernel& kernel) const {
        const auto& most =
            std::max_element(kernel.lines.begin(), kernel.lines.end(),
                             [](const auto& a, const auto& b) { return a.second.warps < b.second.warps; });
        const Warp& warp = dump_.warps[most->second.first_warp];
        Running running;
        running.warps = kernel.warps;
        running.blocks = static_cast<Index>(kernel.blocks.size());
        running.warps_there = most->second.warps;
        Fault& at = running.at;
        at.device = dump_.grids[grid].device;
        at.grid = grid;
        at.warp = most->second.first_warp;
        at.block = warp.block;
        at.sm = dump_.blocks[warp.block].sm;
        at.pc = lane_of(warp)->pc;
        at.pc_kind = PcKind::stopped;
        at.place = code_.find(at.device, *at.pc);
        for (Index i = 0; i < warp.lanes; ++i)
            if (const Lane& lane = dump_.lanes[warp.first_lane + i]; is_active(warp, lane))
                at.threads.push_back(lane.thread);
        at.threads_kind = ThreadsKind::active;
        const std::optional<CodePlace> entry = code_.find(at.device, dump_.grids[grid].entry);
        if (entry && entry->offset == 0) at.kernel = entry->function;
        return running;
    }

    const GpuDump& dump_;
    const CodeMap& code_;
    std::map<GridKey, Kernel> kernels_;
    std::map<std::pair<Index, std::uint64_t>, LineKey> lines_;  // by device and PC
};

}  // namespace

std::vector<Running> running(const GpuDump& dump, const CodeMap& code) {
    return RunningFinder(dump, code).find();
}

}  // namespace aoti_dbg::gpu
