#include "triage/judge/advice.hpp"

#include <algorithm>
#include <csignal>

#include "base/python_program.hpp"
#include "base/words.hpp"
#include "triage/judge/repeat_commands.hpp"

namespace aoti_dbg {
namespace {

/// Returns the pid if the process may still run, else a placeholder for the next one.
std::string pid_text(const CrashEnd& end) {
    return end.is_running ? std::to_string(end.pid) : "PID";
}

/// True if only Python's signal handler may have seen a signal.
bool may_hide_signal(const Evidence& evidence) {
    const auto passes_on = [](const auto& variable) {
        return variable.first == "PYTHONFAULTHANDLER" && !variable.second.empty();
    };
    return is_python(evidence.end.program) && has_unknown_end(evidence) && !evidence.end.is_normal_exit &&
           std::none_of(evidence.variables.begin(), evidence.variables.end(), passes_on);
}

std::string nothing_recorded(const Evidence& evidence) {
    if (evidence.recording != 0)
        return "calls were made, but none was recorded. Check that all processes use this AOTI_DBG_OUT and "
               "can write to it, and that AOTI_DBG_RING is not 0";
    if (evidence.loaded != 0)
        return "at least " + counted(evidence.loaded, "program") +
               " loaded the library, but none made a call. Check that the program with the model loads it. "
               "env -i, sudo, containers and --processes can prevent that";
    return "no process recorded a call: check that the program with the model loads the library";
}

/// Returns false if the launch is not captured.
bool add_replay(const Evidence& evidence, std::vector<std::string>& advice) {
    const CrashCall* const launch = evidence.call();
    if (launch == nullptr || !evidence.is_captured) return false;
    const char* const what = evidence.is_captured_op ? "write a script that runs the op alone: "
                                                     : "run the launch alone, also under compute-sanitizer: ";
    advice.push_back(what + tool_text(evidence) + " replay --runs " + std::to_string(launch->run) +
                     " --calls " + std::to_string(launch->call) +
                     (evidence.is_captured_op ? " --python op.py " : " ") +
                     shell_text({evidence.end.folder}));
    return true;
}

void add_for_kernel(const Evidence& evidence, std::vector<std::string>& advice) {
    if (evidence.by_assertion)
        advice.emplace_back(
            "read standard error: the driver prints a failed assertion with file, line, block and thread. If "
            "it printed none, this was another fault");
    const bool is_known = evidence.device || evidence.by_markers || evidence.by_assertion;
    if (add_replay(evidence, advice)) return;
    if (is_known && evidence.faulted && evidence.faulted->call != ring::kNoCall) {
        advice.push_back("save what the kernel reads: " + tool_text(evidence) +
                         " run --level 1 --sync on --side before --runs " +
                         std::to_string(evidence.faulted->run) + " --calls " +
                         std::to_string(evidence.faulted->call) + " -- " + program_text(evidence));
        return;
    }
    if (!is_about_finding(evidence)) {
        advice.emplace_back("rerun as above: the report then names the launch that fails");
    } else if (evidence.is_measured) {
        advice.push_back("inspect the tensors of the call and of the calls before it: " +
                         tool_text(evidence) + " show --format text " + shell_text({evidence.end.folder}));
    } else {
        advice.emplace_back("rerun with --level 2, which records the tensors of each call");
    }
}

void add_for_memory(const Evidence& evidence, std::vector<std::string>& advice) {
    if (evidence.shortage && evidence.shortage->held != 0)
        advice.push_back("this process holds " + memory_text(evidence.shortage->held_bytes) + " in " +
                         counted(evidence.shortage->held, "allocation"));
    advice.emplace_back("use smaller inputs, or check with nvidia-smi what else uses memory");
}

void add_for_host(const Evidence& evidence, std::vector<std::string>& advice) {
    if (is_about_finding(evidence)) {
        advice.push_back(evidence.finding->advice);
        add_replay(evidence, advice);
        return;
    }
    if (may_hide_signal(evidence))
        advice.emplace_back(
            "set PYTHONFAULTHANDLER=1, or pass -p no:faulthandler to pytest: the report then names the "
            "signal, unless it is SIGKILL");
    advice.emplace_back("see the stack in a debugger: gdb -ex run --args " + program_text(evidence));
}

void add_for_hang(const Evidence& evidence, std::vector<std::string>& advice) {
    if (!evidence.hang) {  // the driver ended a long-running kernel itself
        advice.emplace_back(
            "the driver ends long kernels on a GPU that also drives a display: use another GPU (nvidia-smi "
            "shows which drive one), or do less work per launch");
        return;
    }
    advice.push_back("while it hangs, see where each thread is: gdb -p " + pid_text(evidence.end) +
                     " -batch -ex 'thread apply all bt', or py-spy dump --pid " + pid_text(evidence.end));
    if (may_be_of_device(*evidence.hang) && !evidence.hang->is_recorded)
        advice.push_back("find the running kernel and its line: " + tool_text(evidence) +
                         " run --triage --hang 30 --on-hang raise -- " + program_text(evidence));
}

void add_for_unknown(const Evidence& evidence, std::vector<std::string>& advice) {
    if (evidence.end.signal == SIGKILL)
        advice.emplace_back("check dmesg and the container's events for an out-of-memory kill");
    if (!evidence.end.is_known() && !evidence.end.is_normal_exit)
        advice.push_back(
            "SIGKILL, the program's own signal handler or exec ends a process like this. See its last "
            "calls: " +
            tool_text(evidence) + " show " + shell_text({evidence.end.folder}));
}

}  // namespace

std::vector<std::string> advice_for(CrashClass kind, const Evidence& evidence) {
    if (evidence.processes == 0) return {nothing_recorded(evidence)};
    std::vector<std::string> advice;
    if (evidence.in_flight.size() > 1)
        advice.emplace_back("run the model in one thread: the report then names one call");
    switch (kind) {
        case CrashClass::kernel:
            add_for_kernel(evidence, advice);
            break;
        case CrashClass::oom:
            add_for_memory(evidence, advice);
            break;
        case CrashClass::hardware:
        case CrashClass::driver:
            advice.emplace_back("check nvidia-smi -q and the kernel log (dmesg) for Xid errors");
            break;
        case CrashClass::host:
            add_for_host(evidence, advice);
            break;
        case CrashClass::hang:
            add_for_hang(evidence, advice);
            break;
        case CrashClass::unknown:
            add_for_unknown(evidence, advice);
            break;
    }
    return advice;
}

}  // namespace aoti_dbg
