// See replay_command.hpp.
#include "cli/replay/replay_command.hpp"

#include "cli/replay/inspect.hpp"
#include "cli/replay/replay.hpp"
#include "cli/replay/selected_launches.hpp"
#include "cli/whole_number.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg run --capture 'triton_*' --runs 0 --out captured -- python infer.py\n"
    "  aoti-dbg replay captured                   launch each kernel alone\n"
    "  aoti-dbg replay --calls 41 captured        one of them\n"
    "  aoti-dbg replay --inspect bug.aotidbg      print what a bundle has\n"
    "  compute-sanitizer aoti-dbg replay captured\n"
    "\n"
    "Exit codes: 0 equal to the record, 1 different, 2 could not replay, 3 a kernel failed.\n";

}  // namespace

void ReplayCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Run captured launches alone, and compare their results.", kExamples);
    add_value(own, {"place", "An output directory, a file of its launches, or a bundle (default: aoti_dbg)."},
              place_);
    add_value(own, {"--runs", "Only launches of these runs, as --runs of run.", "RUNS"}, runs_);
    add_value(own, {"--calls", "Only these calls of each run, as --calls of run.", "CALLS"}, calls_);
    add_switch(own, {"--inspect", "Print what the launches consist of, and launch nothing. Needs no GPU."},
               is_inspection_);
    add_value(own, {"--times", "Launch each one so often, and count the different outcomes.", "N"}, times_);
}

int ReplayCommand::run() {
    ReplayRequest request;
    request.place = place_;
    for (const auto& [text, window, flag] :
         {std::tuple(&runs_, &request.runs, "--runs"), std::tuple(&calls_, &request.calls, "--calls")}) {
        if (text->empty()) continue;
        const Result<Window> parsed = parse_window(*text);
        if (!parsed.ok()) return refuse(std::string(flag) + ": " + parsed.status().message());
        *window = parsed.value();
    }
    if (!times_.empty()) {
        const auto times = whole_number<std::uint32_t>(times_);
        if (!times || *times == 0) return refuse("--times takes a number from 1.");
        request.times = *times;
    }
    if (is_inspection_) {
        const std::optional<std::vector<LaunchFile>> launches =
            selected_launches(request.place, request.runs, request.calls);
        return launches ? inspect_launches(*launches) : kReplayTrouble;
    }
    return replay(request);
}

}  // namespace aoti_dbg::cli
