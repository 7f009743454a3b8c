// See gpu_dump_text.hpp. Warps with the same exception at the same place form one entry.
#include "cli/show/gpu_dump_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <vector>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "binary/line_table.hpp"
#include "cli/show/local_time.hpp"
#include "gpu_dump/fault_access.hpp"
#include "gpu_dump/gpu_exception.hpp"
#include "gpu_dump/gpu_faults.hpp"
#include "gpu_dump/gpu_running.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

using gpu::Dim3;
using gpu::Fault;
using gpu::GpuDump;
using gpu::kNone;
using gpu::PcKind;
using gpu::ThreadsKind;

// Together these fill at most one screen.
constexpr std::size_t kGroupsShown = 3;
constexpr std::size_t kBlocksShown = 6;
constexpr std::size_t kFramesShown = 4;
constexpr std::size_t kModulesShown = 3;
constexpr std::size_t kLongestName = 96;

/// The warps with one exception at one place.
struct Group {
    const Fault* first = nullptr;
    std::vector<const Fault*> all;
};

std::string clean(std::string_view text) {
    std::string result;
    append_shortened(text, kLongestName, result);
    return result;
}

std::string text_of(const Dim3& dim) {
    return "[" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z) + "]";
}

std::string line(const char* label, const std::string& text) {
    std::array<char, 16> head{};
    std::snprintf(head.data(), head.size(), "%-10s", label);
    return head.data() + text + "\n";
}

std::vector<Group> grouped(const std::vector<Fault>& faults) {
    std::vector<Group> groups;
    for (const Fault& fault : faults) {
        const auto same = std::find_if(groups.begin(), groups.end(), [&fault](const Group& group) {
            const Fault& first = *group.first;
            return first.device == fault.device && first.exception == fault.exception &&
                   first.pc == fault.pc && first.grid == fault.grid && first.later_grid == fault.later_grid;
        });
        // A dump with this many places is no longer one fault, so the rest is dropped.
        constexpr std::size_t kMostGroups = 1000;
        if (same != groups.end()) {
            same->all.push_back(&fault);
        } else if (groups.size() < kMostGroups) {
            groups.push_back({&fault, {&fault}});
        }
    }
    return groups;
}

class Page {
  public:
    explicit Page(const GpuDump& dump)
        : dump_(dump), code_(dump), faults_(gpu::faults(dump, code_)), groups_(grouped(faults_)) {}

    std::string text() {
        print_written();
        if (groups_.empty()) print_running();
        for (std::size_t i = 0; i < std::min(groups_.size(), kGroupsShown); ++i) {
            if (i != 0) out_ += '\n';
            print_fault(groups_[i]);
        }
        if (groups_.size() > kGroupsShown)
            out_ += "\nand at " + counted(groups_.size() - kGroupsShown, "other place") + "\n";
        print_modules();
        for (const std::string& note : dump_.notes)
            out_ += line("damaged", clean(note));
        return out_;
    }

  private:
    void print_written() {
        std::string text;
        if (dump_.meta) {
            text = local_time(static_cast<std::time_t>(dump_.meta->time)).value_or("");
            text += ", driver " + version(dump_.meta->driver) + ", CUDA " + version(dump_.meta->cuda);
        } else {
            text = "unknown: drivers before 565 do not record the time";
        }
        out_ += line("written", text);
    }
    static std::string version(const gpu::Version& version) {
        return std::to_string(version.major) + "." + std::to_string(version.minor);
    }

    /// The dump was requested, by hand or at a hang.
    void print_running() {
        running_ = gpu::running(dump_, code_);
        out_ +=
            line("exception", running_.empty() ? "none, and no running kernel: the dump was requested while "
                                                 "the GPU was idle, or the fault left no trace"
                                               : "none: the dump was requested while kernels were running");
        for (std::size_t i = 0; i < std::min(running_.size(), kGroupsShown); ++i) {
            const gpu::Running& one = running_[i];
            out_ += '\n';
            print_device(one.at);
            print_kernel(one.at);
            out_ += line("warps", std::to_string(one.warps) + " of " + counted(one.blocks, "block") + "; " +
                                      std::to_string(one.warps_there) + " at this line, such as this one");
            print_place(one.at);
            print_source(one.at);
            print_blocks({&one.at, {&one.at}});
            print_threads(one.at);
        }
        if (running_.size() > kGroupsShown)
            out_ += "\nand " + counted(running_.size() - kGroupsShown, "other kernel") + "\n";
    }

    void print_fault(const Group& group) {
        const Fault& fault = *group.first;
        print_exception(fault);
        print_device(fault);
        print_kernel(fault);
        print_place(fault);
        print_source(fault);
        print_access(fault);
        print_blocks(group);
        print_threads(fault);
    }

    void print_exception(const Fault& fault) {
        if (fault.is_trap) {
            out_ += line("exception", "none: the kernel stopped itself with a trap instruction");
            return;
        }
        if (!fault.exception) {
            out_ += line("exception", "unknown: the dump does not name it");
            return;
        }
        out_ += line("exception", gpu::exception_name(*fault.exception) + ": " +
                                      gpu::exception_info(*fault.exception).meaning);
        if (!fault.exception_text.empty()) out_ += line("driver", clean(fault.exception_text));
    }

    void print_device(const Fault& fault) {
        const gpu::Device& device = dump_.devices[fault.device];
        std::string text = std::to_string(device.id);
        if (!device.name.empty()) text += " " + clean(device.name);
        if (!device.architecture.empty()) text += " (" + clean(device.architecture) + ")";
        text += ", SM " + std::to_string(dump_.sms[fault.sm].id);
        if (fault.warp != kNone) text += ", warp " + std::to_string(dump_.warps[fault.warp].id);
        out_ += line("device", text);
    }

    void print_kernel(const Fault& fault) {
        if (fault.grid == kNone) {
            std::string text = fault.kernel.empty() ? "unknown" : clean(fault.kernel);
            text += "; the warp exited before the dump was written";
            if (fault.later_grid != kNone)
                text += ", and launch " + std::to_string(dump_.grids[fault.later_grid].id) +
                        " of its context then used its slot";
            out_ += line("kernel", text);
            return;
        }
        const gpu::Grid& grid = dump_.grids[fault.grid];
        std::string text = fault.kernel.empty()
                               ? "unknown: no image in the dump has it, entry " + hex_text(grid.entry)
                               : clean(fault.kernel);
        if (grid.blocks) text += ", grid " + text_of(*grid.blocks);
        if (grid.threads) text += " of blocks " + text_of(*grid.threads);
        out_ += line("kernel", text + ", launch " + std::to_string(grid.id) + " of its context");
    }

    void print_place(const Fault& fault) {
        if (!fault.pc) {
            out_ += line("at", "unknown: the dump has no PC");
            return;
        }
        std::string text = hex_text(*fault.pc);
        if (fault.place) {
            text += ", byte " + hex_text(fault.place->offset) + " of " + clean(fault.place->function);
        } else if (fault.grid != kNone && *fault.pc >= dump_.grids[fault.grid].entry) {
            text += ", " + hex_text(*fault.pc - dump_.grids[fault.grid].entry) +
                    " bytes after the kernel's entry; no image in the dump has this address";
        } else {
            text += "; no image in the dump has this address";
        }
        if (fault.pc_kind == PcKind::stopped)
            text += "; a thread stopped here, possibly after the faulting instruction";
        out_ += line("at", text);
    }

    void print_source(const Fault& fault) {
        if (!fault.place) return;
        const Result<elf::File> image = elf::File::open(dump_.modules[fault.place->module].image);
        if (!image.ok()) return;
        const Result<LineTable> table = LineTable::open(image.value());
        if (!table.ok()) {
            out_ += line("line", "unknown: its module " + table.status().message());
            return;
        }
        const std::vector<SourceLine> frames =
            table.value().find(fault.place->section, fault.place->section_offset);
        if (frames.empty()) out_ += line("line", "unknown: the line table does not cover this address");
        for (std::size_t i = 0; i < std::min(frames.size(), kFramesShown); ++i) {
            const SourceLine& frame = frames[i];
            std::string text = frame.file.empty() ? "an unnamed file" : clean(frame.file);
            text += ":" + std::to_string(frame.line);
            if (!frame.function.empty()) text += ", in " + clean(frame.function) + ", inlined at";
            out_ += line(i == 0 ? "line" : "", text);
        }
    }

    void print_access(const Fault& fault) {
        const std::optional<gpu::FaultAccess> found = gpu::fault_access(dump_, fault);
        if (!found) return;
        constexpr const char* kAccesses[] = {"read", "write", "atomic update"};
        constexpr const char* kMemories[] = {"", " in shared memory", " in local memory"};
        const gpu::MemoryAccess& instruction = found->instruction;
        std::string text = kAccesses[static_cast<std::size_t>(instruction.access)];
        if (instruction.bytes != 0) text += " of " + counted(instruction.bytes, "byte");
        text += kMemories[static_cast<std::size_t>(instruction.space)];
        if (found->threads.empty()) {
            text += "; the address registers were overwritten";
        } else {
            const auto is_less = [](const auto& a, const auto& b) { return a.address < b.address; };
            const auto [least, most] =
                std::minmax_element(found->threads.begin(), found->threads.end(), is_less);
            text += (found->is_certain ? " at " : " likely at ") + hex_text(least->address);
            if (most->address != least->address) text += " to " + hex_text(most->address);
        }
        out_ += line("access", text);
    }

    void print_blocks(const Group& group) {
        std::vector<Dim3> blocks;
        for (const Fault* fault : group.all) {
            if (fault->block == kNone) continue;
            const Dim3& index = dump_.blocks[fault->block].index;
            if (std::find(blocks.begin(), blocks.end(), index) == blocks.end() &&
                blocks.size() <= kBlocksShown)
                blocks.push_back(index);
        }
        if (blocks.empty()) return;
        std::string text;
        for (std::size_t i = 0; i < std::min(blocks.size(), kBlocksShown); ++i)
            text += (i == 0 ? "" : " ") + text_of(blocks[i]);
        if (blocks.size() > kBlocksShown) text += " ...";
        if (group.all.size() > 1) text += "; " + std::to_string(group.all.size()) + " warps";
        out_ += line(blocks.size() == 1 ? "block" : "blocks", text);
    }

    void print_threads(const Fault& fault) {
        if (fault.threads_kind == ThreadsKind::none) {
            out_ += line("threads", "unknown: the dump has none");
            return;
        }
        std::string text = text_of(fault.threads.front());
        if (fault.threads.size() > 1) {
            text += (fault.threads.size() > 2 ? " to " : " and ") + text_of(fault.threads.back()) + ", " +
                    std::to_string(fault.threads.size()) + " in one warp";
        }
        if (fault.threads_kind == ThreadsKind::active && !groups_.empty())
            text += "; at least one of them, but the dump does not say which";
        out_ += line(fault.threads.size() == 1 ? "thread" : "threads", text);
    }

    void print_modules() {
        std::size_t bytes = 0;
        std::size_t images = 0;
        for (const gpu::Module& module : dump_.modules) {
            bytes += module.image.size();
            images += module.image.empty() ? 0 : 1;
        }
        out_ += "\n" + line("modules", std::to_string(dump_.modules.size()) + ", " +
                                           counted(images, "image") + " of " + counted(bytes, "byte"));
        std::vector<gpu::Index> printed;
        for (const Group& group : groups_) {
            if (!group.first->place || printed.size() >= kModulesShown) continue;
            const gpu::Index module = group.first->place->module;
            if (std::find(printed.begin(), printed.end(), module) != printed.end()) continue;
            printed.push_back(module);
            out_ += line(
                "", hex_text(dump_.modules[module].handle) + " holds " + clean(group.first->place->function));
        }
    }

    const GpuDump& dump_;
    gpu::CodeMap code_;
    std::vector<Fault> faults_;
    std::vector<Group> groups_;
    std::vector<gpu::Running> running_;  // if there is no fault
    std::string out_;
};

}  // namespace

std::string gpu_dump_text(const GpuDump& dump) {
    return Page(dump).text();
}

}  // namespace aoti_dbg::cli
