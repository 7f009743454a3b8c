// See gpu_faults.hpp. A warp faulted if it has an error PC or a lane with an exception. If an SM with an
// exception has no such warp, the warp exited before the dump was written. Without any exception, the warps
// stopped at a trap are the faults. Writes are asynchronous, so an exception may reach a warp of the SM's
// next kernel. The PC still belongs to the faulting kernel.
#include "gpu_dump/gpu_faults.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "gpu_dump/gpu_exception.hpp"

namespace aoti_dbg::gpu {
namespace {

class FaultFinder {
  public:
    FaultFinder(const GpuDump& dump, const CodeMap& code) : dump_(dump), code_(code) {
        for (Index i = 0; i < dump.grids.size(); ++i)
            grids_.emplace(std::make_pair(dump.grids[i].device, dump.grids[i].id), i);
    }

    std::vector<Fault> find() {
        std::vector<Fault> found;
        std::vector<bool> is_explained(dump_.sms.size(), false);
        for (Index warp = 0; warp < dump_.warps.size(); ++warp) {
            std::optional<Fault> fault = fault_of(warp);
            if (!fault) continue;
            is_explained[fault->sm] = true;
            found.push_back(std::move(*fault));
        }
        for (Index sm = 0; sm < dump_.sms.size(); ++sm) {
            if (!is_explained[sm] && dump_.sms[sm].exception.value_or(kNoException) != kNoException)
                found.push_back(fault_without_warp(sm));
        }
        if (found.empty()) {
            for (Index warp = 0; warp < dump_.warps.size(); ++warp)
                if (dump_.warps[warp].is_broken) found.push_back(trap_of(warp));
        }
        return found;
    }

  private:
    [[nodiscard]] Fault fault_on(Index sm) const {
        Fault fault;
        fault.sm = sm;
        fault.device = dump_.sms[sm].device;
        if (dump_.sms[sm].exception.value_or(kNoException) != kNoException) {
            fault.exception = dump_.sms[sm].exception;
            fault.exception_text = dump_.sms[sm].exception_text;
        }
        return fault;
    }

    [[nodiscard]] Fault fault_without_warp(Index sm) const {
        Fault fault = fault_on(sm);
        fault.pc = dump_.sms[sm].error_pc;
        if (fault.pc) fault.pc_kind = PcKind::error;
        name(fault);
        return fault;
    }

    [[nodiscard]] Fault fault_in(Index warp) const {
        const Block& block = dump_.blocks[dump_.warps[warp].block];
        Fault fault = fault_on(block.sm);
        fault.warp = warp;
        fault.block = dump_.warps[warp].block;
        const auto grid = grids_.find({fault.device, block.grid});
        if (grid != grids_.end()) fault.grid = grid->second;
        return fault;
    }

    [[nodiscard]] Fault trap_of(Index number) const {
        const Warp& warp = dump_.warps[number];
        Fault fault = fault_in(number);
        fault.is_trap = true;
        for (Index i = 0; i < warp.lanes; ++i) {
            const Lane& lane = dump_.lanes[warp.first_lane + i];
            if (!is_active(warp, lane)) continue;
            if (!fault.pc) fault.pc = lane.pc;
            fault.threads.push_back(lane.thread);
        }
        if (fault.pc) fault.pc_kind = PcKind::stopped;
        if (!fault.threads.empty()) fault.threads_kind = ThreadsKind::active;
        name(fault);
        return fault;
    }

    [[nodiscard]] std::optional<Fault> fault_of(Index number) const {
        const Warp& warp = dump_.warps[number];
        const Lane* const lanes = warp.lanes == 0 ? nullptr : &dump_.lanes[warp.first_lane];
        const auto has_exception = [](const Lane& lane) {
            return lane.exception.value_or(kNoException) != kNoException;
        };
        const Lane* const first = std::find_if(lanes, lanes + warp.lanes, has_exception);
        const bool is_in_lane = first != lanes + warp.lanes;
        if (!warp.error_pc && !is_in_lane) return std::nullopt;

        Fault fault = fault_in(number);
        if (is_in_lane && fault.exception != first->exception) {
            fault.exception = first->exception;
            fault.exception_text = {};  // belongs to another exception
        }
        if (warp.error_pc) {
            fault.pc = warp.error_pc;
            fault.pc_kind = PcKind::error;
        } else {
            fault.pc = first->pc;
            fault.pc_kind = PcKind::stopped;
        }
        for (Index i = 0; i < warp.lanes; ++i)
            if (is_in_lane ? has_exception(lanes[i]) : is_active(warp, lanes[i]))
                fault.threads.push_back(lanes[i].thread);
        if (!fault.threads.empty())
            fault.threads_kind = is_in_lane ? ThreadsKind::faulted : ThreadsKind::active;
        name(fault);
        return fault;
    }

    void name(Fault& fault) const {
        if (fault.pc) fault.place = code_.find(fault.device, *fault.pc);
        const bool is_in_kernel = fault.place && fault.place->is_kernel;
        if (is_in_kernel) fault.kernel = fault.place->function;
        if (fault.grid == kNone) return;
        const std::optional<CodePlace> entry = code_.find(fault.device, dump_.grids[fault.grid].entry);
        if (!entry || entry->offset != 0) return;
        // A kernel never calls another kernel.
        if (is_in_kernel && fault.pc_kind == PcKind::error &&
            dump_.grids[fault.grid].entry != *fault.pc - fault.place->offset) {
            fault.later_grid = std::exchange(fault.grid, kNone);
            fault.warp = fault.block = kNone;
            fault.threads.clear();
            fault.threads_kind = ThreadsKind::none;
            return;
        }
        fault.kernel = entry->function;
    }

    const GpuDump& dump_;
    const CodeMap& code_;
    std::map<std::pair<Index, std::uint64_t>, Index> grids_;  // by device and id
};

}  // namespace

CodeMap::CodeMap(const GpuDump& dump) {
    for (Index i = 0; i < dump.modules.size(); ++i)
        add_functions_of(dump, i);
    std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
        return std::tie(a.device, a.begin, a.module) < std::tie(b.device, b.begin, b.module);
    });
}

void CodeMap::add_functions_of(const GpuDump& dump, Index module) {
    const Result<elf::File> file = elf::File::open(dump.modules[module].image);
    if (!file.ok()) return;
    const elf::Symbols symbols(file.value());
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const std::optional<elf::Symbol> symbol = symbols.at(i);
        if (!symbol || !symbol->is_function || symbol->section == 0) continue;
        const elf::Section section = file.value().section(symbol->section);
        Function function;
        function.device = dump.device_of(dump.modules[module]);
        function.begin = section.address + symbol->offset;
        // An unknown size extends to the section's end.
        const std::uint64_t rest = section.bytes > symbol->offset ? section.bytes - symbol->offset : 0;
        function.end = function.begin + (symbol->bytes != 0 ? symbol->bytes : rest);
        function.names = symbols.strings();
        function.name = symbol->name;
        function.is_kernel = symbol->is_kernel;
        function.module = module;
        function.section = symbol->section;
        function.section_offset = symbol->offset;
        // An unrelocated image has no valid addresses.
        if (section.address == 0 && symbol->offset < section.bytes) continue;
        functions_.push_back(function);
    }
}

std::optional<CodePlace> CodeMap::find(Index device, std::uint64_t address) const {
    const auto after = std::upper_bound(functions_.begin(), functions_.end(), std::tie(device, address),
                                        [](const auto& requested, const Function& function) {
                                            return requested < std::tie(function.device, function.begin);
                                        });
    if (after == functions_.begin()) return std::nullopt;
    const Function& function = *std::prev(after);
    if (function.device != device || address >= function.end) return std::nullopt;
    CodePlace place;
    place.function = elf::File::string_at(function.names, function.name).value_or(std::string_view());
    place.is_kernel = function.is_kernel;
    place.offset = address - function.begin;
    place.module = function.module;
    place.section = function.section;
    place.section_offset = function.section_offset + place.offset;
    return place;
}

std::vector<SourceLine> source_lines(const GpuDump& dump, const CodePlace& place) {
    const Result<elf::File> image = elf::File::open(dump.modules[place.module].image);
    if (!image.ok()) return {};
    const Result<LineTable> table = LineTable::open(image.value());
    return table.ok() ? table.value().find(place.section, place.section_offset) : std::vector<SourceLine>();
}

std::vector<Fault> faults(const GpuDump& dump, const CodeMap& code) {
    return FaultFinder(dump, code).find();
}

}  // namespace aoti_dbg::gpu
