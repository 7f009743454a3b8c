// See show_command.hpp.
#include "cli/show/show_command.hpp"

#include <cstdint>
#include <optional>

#include "cli/show/follow.hpp"
#include "cli/show/show.hpp"
#include "cli/show/show_events.hpp"
#include "cli/show/show_gpu_dump.hpp"
#include "cli/show/show_tensor.hpp"
#include "cli/torch_trace_option.hpp"
#include "cli/whole_number.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kUsualCalls = 20;

constexpr const char* kShowExamples =
    "Examples:\n"
    "  aoti-dbg show aoti_dbg/20261121-093000-4242     the last calls of this run\n"
    "  aoti-dbg show --thread 4250 --last 100\n"
    "  aoti-dbg show --format compact | less -S        every tensor of the newest run\n"
    "  aoti-dbg show --follow                          a program that still runs\n"
    "  aoti-dbg show tensors/run0000/inputs/x.pt       a saved tensor without torch\n"
    "  aoti-dbg show core_1790000000_node7.nvcudmp     the fault in a GPU core dump\n";

}  // namespace

std::string ShowCommand::contradiction() const {
    if (all_ && !last_.empty()) return "--last and --all contradict each other. Give only one of them.";
    if (format_.empty() && !follow_ && !torch_trace_.empty())
        return "--torch-trace applies to findings. Add --format or --follow.";
    if (follow_ && (all_ || !last_.empty()))
        return "--follow prints every call. Leave out " + std::string(all_ ? "--all" : "--last") + ".";
    if (format_.empty() || (!all_ && last_.empty())) return {};
    return "--format prints every event. Leave out " + std::string(all_ ? "--all" : "--last") + ".";
}

void ShowCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Print recorded calls, tensors or a GPU core dump.", kShowExamples);
    add_value(own,
              {"place", "A recorded file, or a directory with one in it or below it. Default: aoti_dbg."},
              place_);
    add_value(own, {"--last", "Print this many calls, and older ones that did not end. Default: 20.", "N"},
              last_);
    add_switch(own, {"--all", "Print every call in the ring."}, all_);
    add_value(own, {"--thread", "Print only calls of the thread with this id.", "ID"}, thread_);
    accepts(add_value(own,
                      {"--format",
                       "Print the recorded tensors (level 2) instead of calls: as text, compact or jsonl.",
                       "FORMAT"},
                      format_),
            {"text", "compact", "jsonl"});
    add_switch(own, {"--follow", "Print new calls and findings until the program ends."}, follow_);
    add_value(own, torch_trace_option(), torch_trace_);
}

int ShowCommand::run() {
    if (const std::string fault = contradiction(); !fault.empty()) return refuse(fault);
    const std::optional<std::size_t> last = last_.empty() ? kUsualCalls : whole_number<std::size_t>(last_);
    if (!last) return refuse(wrong_value("--last", last_, "a number of calls, 0 or more", {}));
    std::optional<std::uint32_t> thread;
    if (!thread_.empty()) {
        thread = whole_number<std::uint32_t>(thread_);
        if (!thread) return refuse(wrong_value("--thread", thread_, "a thread id", {}));
    }
    const std::optional<Result<TorchTrace>> trace =
        torch_trace_.empty() ? std::nullopt : std::optional(TorchTrace::read(torch_trace_));
    if (trace && !trace->ok()) return refuse_torch_trace(trace->status());
    const TorchTrace* const logs = trace ? &trace->value() : nullptr;
    std::optional<OutputFormat> format;
    if (!format_.empty()) {
        format = output_format_named(lower_case(format_));
        if (!format)
            return refuse(
                wrong_value("--format", format_, "text, compact or jsonl", {"text", "compact", "jsonl"}));
    }
    if (follow_) return follow({place_, format, thread, logs});
    if (format_.empty() && is_saved_tensor(place_)) return show_tensor(place_);
    if (format_.empty() && is_gpu_dump(place_)) return show_gpu_dump(place_);
    if (format_.empty()) return show({place_, *last, all_, thread});
    return show_events({place_, *format, thread, logs});
}

}  // namespace aoti_dbg::cli
