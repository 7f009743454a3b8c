#include "triage/judge/crash_advice.hpp"

#include <algorithm>
#include <csignal>

#include "base/python_program.hpp"
#include "base/words.hpp"
#include "triage/judge/reproduce_script.hpp"

namespace aoti_dbg {
namespace {

/// Returns the pid if the process may still run, else a placeholder for the next one.
std::string pid_text(const CrashEnd& end) {
    return end.is_running ? std::to_string(end.pid) : "PID";
}

/// True if only Python's signal handler may have seen a signal.
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
                "calls were made, but none was recorded. Check that all processes use this AOTI_DBG_OUT and "
                "can write to it, and that AOTI_DBG_RING is not 0");
        else if (report.loaded != 0)
            advice.push_back("at least " + counted(report.loaded, "program") +
                             " loaded the library, but none made a call. Check that the program with the "
                             "model loads it. env -i, sudo, containers and --processes can prevent that");
        else
            advice.emplace_back(
                "no process recorded a call: check that the program with the model loads the library");
        return advice;
    }
    if (report.in_flight.size() > 1)
        advice.emplace_back("run the model in one thread: the report then names one call");
    switch (report.kind) {
        case CrashClass::kernel:
            if (report.by_assertion)
                advice.emplace_back(
                    "read standard error: the driver prints a failed assertion with file, line, block and "
                    "thread. If it printed none, this was another fault");
            if ((report.device || report.by_markers || report.by_assertion) && report.faulted &&
                report.faulted->call != ring::kNoCall) {
                advice.push_back("save what the kernel reads: " + tool_text(report) +
                                 " run --level 1 --sync on --side before --runs " +
                                 std::to_string(report.faulted->run) + " --calls " +
                                 std::to_string(report.faulted->call) + " -- " + program_text(report));
                break;
            }
            advice.emplace_back(is_about_finding
                                    ? "inspect the call's inputs in events.jsonl, or rerun with --level 2"
                                    : "rerun as above: the report then names the launch that fails");
            break;
        case CrashClass::oom:
            if (report.shortage && report.shortage->held != 0)
                advice.push_back("this process holds " + memory_text(report.shortage->held_bytes) + " in " +
                                 counted(report.shortage->held, "allocation"));
            advice.emplace_back("use smaller inputs, or check with nvidia-smi what else uses memory");
            break;
        case CrashClass::hardware:
        case CrashClass::driver:
            advice.emplace_back("check nvidia-smi -q and the kernel log (dmesg) for Xid errors");
            break;
        case CrashClass::host:
            if (is_about_finding) {
                advice.push_back(report.finding->advice);
                break;
            }
            if (may_hide_signal(report))
                advice.emplace_back(
                    "set PYTHONFAULTHANDLER=1, or pass -p no:faulthandler to pytest: the report then names "
                    "the signal, unless it is SIGKILL");
            advice.emplace_back("see the stack in a debugger: gdb -ex run --args " + program_text(report));
            break;
        case CrashClass::hang:
            if (!report.hang) {  // the driver ended a long-running kernel itself
                advice.emplace_back(
                    "the driver ends long kernels on a GPU that also drives a display: use another GPU "
                    "(nvidia-smi shows which drive one), or do less work per launch");
                break;
            }
            advice.push_back("while it hangs, see where each thread is: gdb -p " + pid_text(report.end) +
                             " -batch -ex 'thread apply all bt', or py-spy dump --pid " +
                             pid_text(report.end));
            if (may_be_of_device(*report.hang) && !report.hang->is_recorded)
                advice.push_back("find the running kernel and its line: " + tool_text(report) +
                                 " run --triage --hang 30 --on-hang raise -- " + program_text(report));
            break;
        case CrashClass::unknown:
            if (report.end.signal == SIGKILL)
                advice.emplace_back("check dmesg and the container's events for an out-of-memory kill");
            if (!report.end.is_known() && !report.end.is_in_good_order)
                advice.push_back(
                    "SIGKILL, the program's own signal handler or exec ends a process like this. See its "
                    "last calls: " +
                    tool_text(report) + " show " + shell_text({report.end.folder}));
            break;
    }
    return advice;
}

}  // namespace aoti_dbg
