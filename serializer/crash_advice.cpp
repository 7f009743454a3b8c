#include "serializer/crash_advice.hpp"

#include <algorithm>
#include <csignal>

#include "base/python_program.hpp"
#include "base/words.hpp"
#include "serializer/crash_repeat.hpp"

namespace aoti_dbg {
namespace {

/// Of a process that may still be there; else that of the next one.
std::string pid_text(const CrashEnd& end) {
    return end.is_running ? std::to_string(end.pid) : "PID";
}

/// Whether a signal may have come that only a handler of Python's saw.
bool may_hide_signal(const CrashReport& report) {
    const auto passes_on = [](const auto& variable) {
        return variable.first == "PYTHONFAULTHANDLER" && !variable.second.empty();
    };
    return is_python(report.end.program) && has_unknown_end(report) && !report.end.is_in_good_order &&
           std::none_of(report.variables.begin(), report.variables.end(), passes_on);
}

}  // namespace

std::vector<std::string> advice_for(const CrashReport& report, bool is_about_finding) {
    std::vector<std::string> advice;
    if (report.processes == 0) {
        if (report.recording != 0)
            advice.emplace_back(
                "calls were made and none is on record: see that AOTI_DBG_OUT is this folder for all "
                "processes and can be written, and that AOTI_DBG_RING is not 0");
        else if (report.loaded != 0)
            advice.push_back(
                std::to_string(report.loaded) +
                " programs or more loaded the library and none made a call: see that it reaches the one with "
                "the model, through env -i, sudo, containers and --processes, and what that one says of "
                "loading it");
        else
            advice.emplace_back(
                "no process recorded a call: check that the library reaches the one with the model");
        return advice;
    }
    if (report.in_flight.size() > 1)
        advice.emplace_back("run the model in one thread: then the call is known, and not only the set");
    switch (report.kind) {
        case CrashClass::kernel:
            if (report.by_assertion)
                advice.emplace_back(
                    "the driver prints an assertion that fails on standard error, with file, line, block and "
                    "thread; where it has not, it was another fault");
            if ((report.device || report.by_markers || report.by_assertion) && report.faulted &&
                report.faulted->call != ring::kNoCall) {
                advice.push_back("what it reads, saved: " + tool_text(report) +
                                 " run --level 1 --sync on --side before --runs " +
                                 std::to_string(report.faulted->run) + " --calls " +
                                 std::to_string(report.faulted->call) + " -- " + program_text(report));
                break;
            }
            advice.emplace_back(
                is_about_finding ? "look at the call's inputs, in events.jsonl or by --level 2"
                                 : "repeat it as above: the launch that fails is then the one that is named");
            break;
        case CrashClass::oom:
            if (report.shortage && report.shortage->held != 0)
                advice.push_back("this process held " + memory_text(report.shortage->held_bytes) +
                                 " of it in " + counted(report.shortage->held, "allocation"));
            advice.emplace_back("smaller inputs, or look at what else holds memory: nvidia-smi");
            break;
        case CrashClass::hardware:
        case CrashClass::driver:
            advice.emplace_back("look at nvidia-smi -q and at the kernel's log (dmesg) for Xid");
            break;
        case CrashClass::host:
            if (is_about_finding) {
                advice.push_back(report.finding->advice);
                break;
            }
            if (may_hide_signal(report))
                advice.emplace_back(
                    "PYTHONFAULTHANDLER=1 in its environment, or -p no:faulthandler of pytest's: then it is "
                    "known which signal came, unless it was SIGKILL");
            advice.emplace_back("a debugger shows the stack: gdb -ex run --args " + program_text(report));
            break;
        case CrashClass::hang:
            if (!report.hang) {  // the driver's own judgement, of a kernel that it has ended
                advice.emplace_back(
                    "the driver ends a kernel that runs for long where the GPU also drives a display: take "
                    "another GPU (nvidia-smi says which have a display), or less work a launch");
                break;
            }
            advice.push_back("while it hangs: gdb -p " + pid_text(report.end) +
                             " -batch -ex 'thread apply all bt', and py-spy dump --pid " +
                             pid_text(report.end) + ", show where each thread is");
            if (may_be_of_device(*report.hang) && !report.hang->is_recorded)
                advice.push_back("which kernel runs and at which line: " + tool_text(report) +
                                 " run --triage --hang 30 --on-hang raise -- " + program_text(report));
            break;
        case CrashClass::unknown:
            if (report.end.signal == SIGKILL)
                advice.emplace_back("dmesg and the container's own events say whether memory was short");
            if (!report.end.is_known() && !report.end.is_in_good_order)
                advice.push_back(
                    "so a process ends by SIGKILL, by a handler of its own, or where exec puts "
                    "another program in its place; its last calls: " +
                    tool_text(report) + " show " + shell_text({report.end.folder}));
            break;
    }
    return advice;
}

}  // namespace aoti_dbg
