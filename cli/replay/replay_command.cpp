// See replay_command.hpp.
#include "cli/replay/replay_command.hpp"

#include "base/file_bytes.hpp"
#include "base/proc_text.hpp"
#include "cli/replay/fault_dump.hpp"
#include "cli/replay/inspect.hpp"
#include "cli/replay/selected_launches.hpp"
#include "cli/whole_number.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint64_t kMostCode = std::uint64_t{1} << 30U;

constexpr const char* kReplayExamples =
    "Examples:\n"
    "  aoti-dbg run --capture 'triton_*' --runs 0 --out captured -- python infer.py\n"
    "  aoti-dbg replay captured                   replay each launch alone\n"
    "  aoti-dbg replay --calls 41 captured        replay one of them\n"
    "  aoti-dbg replay --guard --calls 41 captured   fault on an out-of-bounds access\n"
    "  aoti-dbg replay --inspect bug.aotidbg      print the contents of a bundle\n"
    "  compute-sanitizer aoti-dbg replay captured\n"
    "  cuda-gdb --args aoti-dbg replay --stop-before --calls 41 captured\n"
    "  aoti-dbg replay --calls 3 --python op.py captured   write a script that repeats an op or kernel\n"
    "  aoti-dbg replay --calls 41 --guard --minimize small.aotidbg captured   shrink a launch that faults\n"
    "\n"
    "Exit codes: 0 equal to the record, 1 different, 2 could not replay, 3 a kernel failed.\n"
    "With --minimize: 0 the smaller launch shows the same problem, 2 it does not, or none was written.\n";

}  // namespace

void ReplayCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Run captured launches alone, and compare their results.", kReplayExamples);
    add_value(own, {"place", "An output directory, a file of its launches, or a bundle (default: aoti_dbg)."},
              place_);
    add_value(own, {"--runs", "Only launches of these runs: 3, 10:20 or ::1000.", "RUNS"}, runs_);
    add_value(own, {"--calls", "Only these calls of each run: 3, 10:20 or ::100.", "CALLS"}, calls_);
    add_switch(own, {"--inspect", "Print shape, code, parameters and tensors of each launch, without a GPU."},
               is_inspection_);
    add_value(own, {"--times", "Launch each kernel N times, and count the different outcomes.", "N"}, times_);
    add_switch(own,
               {"--guard", "Fault on out-of-bounds accesses: unmap memory after, then before each buffer."},
               is_guarded_);
    add_value(
        own,
        {"--poison", "Detect reads of uninitialized memory: fill it with this byte, such as ff.", "BYTE"},
        poison_);
    add_value(own, {"--rtol", "Accept differences up to atol + rtol * |recorded value|.", "NUMBER"}, rtol_);
    add_value(own, {"--atol", "The atol of --rtol. If you set only one of them, the other is 0.", "NUMBER"},
              atol_);
    add_switch(own, {"--bench", "Also measure the kernel's time."}, is_timed_);
    add_value(own,
              {"--replace", "Use the kernel in this cubin, fatbin or PTX file instead of the captured one.",
               "FILE"},
              code_);
    add_value(own, {"--ptxas-opt", "Compile PTX with this optimization level, 0 to 4.", "LEVEL"}, level_);
    add_switch(own, {"--stop-before", "Stop in the debugger before each launch."}, stops_);
    add_value(own, {"--python", "Write a Python script that repeats one call of an op or kernel.", "FILE"},
              python_);
    add_value(own,
              {"--minimize", "Write a bundle with a smaller launch that shows the same problem.", "FILE"},
              minimize_);
}

Status ReplayCommand::parse(ReplayRequest& request) const {
    if (Status selected = parse_selection(runs_, calls_, request.runs, request.calls); !selected.ok())
        return selected;
    if (!times_.empty()) {
        const auto times = whole_number<std::uint32_t>(times_);
        if (!times || *times == 0) return Status::error("--times takes a number from 1.");
        request.times = *times;
    }
    if (!poison_.empty()) {
        std::uint64_t byte = 0;
        if (!hexadecimal(poison_, byte) || byte > 0xff)
            return Status::error(wrong_value("--poison", poison_, "a byte in hexadecimal, such as ff", {}));
        request.poison = static_cast<std::byte>(byte);
    }
    if (!rtol_.empty() || !atol_.empty()) request.tolerance.emplace();
    for (const auto& [flag, text, is_relative] :
         {std::tuple("--rtol", &rtol_, true), std::tuple("--atol", &atol_, false)}) {
        if (text->empty()) continue;
        const std::optional<double> number = tolerance_of(*text);
        if (!number) return Status::error(wrong_value(flag, *text, "a number such as 1e-5", {}));
        (is_relative ? request.tolerance->relative : request.tolerance->absolute) = *number;
    }
    if (!level_.empty()) {
        request.level = whole_number<std::uint32_t>(level_);
        if (!request.level || *request.level > 4)
            return Status::error(wrong_value("--ptxas-opt", level_, "a level from 0 to 4", {}));
    }
    if (!code_.empty()) {
        Result<std::string> code = read_regular_file(code_, "the code of a kernel", kMostCode);
        if (!code.ok())
            return Status::error("--replace: cannot read " + code.status().message() +
                                 ". Name a cubin, fatbin or PTX file.");
        request.code = std::move(code.value());
    }
    if (!python_.empty() && (is_inspection_ || is_guarded_ || is_timed_ || stops_ || !times_.empty() ||
                             !poison_.empty() || !code_.empty() || !level_.empty() || request.tolerance))
        return Status::error("--python launches nothing. Use it only with --runs and --calls.");
    if (stops_ && !is_debugged())
        return Status::error("--stop-before needs a debugger. Run: cuda-gdb --args aoti-dbg replay ...");
    if (!minimize_.empty() && (is_inspection_ || is_timed_ || stops_ || !python_.empty()))
        return Status::error(
            "--minimize cannot be combined with --inspect, --bench, --stop-before or --python. Leave them "
            "out.");
    return {};
}

int ReplayCommand::run() {
    ReplayRequest request;
    request.place = place_;
    request.python = python_;
    request.minimize = minimize_;
    request.is_guarded = is_guarded_;
    request.is_timed = is_timed_;
    request.stops = stops_;
    if (Status parsed = parse(request); !parsed.ok()) return refuse(parsed.message());
    if (is_inspection_) {
        const std::optional<std::vector<LaunchFile>> launches =
            selected_launches(request.place, request.runs, request.calls);
        return launches ? inspect_launches(*launches) : kReplayTrouble;
    }
    return replay(request);
}

}  // namespace aoti_dbg::cli
