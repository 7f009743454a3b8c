// Judges the facts of a report: one verdict and its class. It has no side effects.
#include "triage/judge/crash_report.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "serializer/codes.hpp"
#include "serializer/finding.hpp"
#include "triage/judge/crash_advice.hpp"
#include "triage/judge/reproduce_script.hpp"
#include "triage/judge/verdict_words.hpp"

namespace aoti_dbg {
namespace {

constexpr const char* kUnknownKernel = "an unknown kernel";

std::string clean(std::string_view text) {
    std::string result;
    append_clean(text, result);
    return result;
}

std::string_view word_of(Finding::Kind kind) {
    switch (kind) {
        case Finding::Kind::input_nan:
            return "input_nan";
        case Finding::Kind::weight_nan:
            return "weight_nan";
        case Finding::Kind::argument:
            return "argument";
        case Finding::Kind::inf:
            return "inf";
        case Finding::Kind::nan:
            break;
    }
    return "nan";
}

/// The judgment before hashing.
struct Judgement {
    CrashClass kind = CrashClass::unknown;
    std::string verdict;
    std::string what;  // what failed, in a word for the fingerprint
    std::string where;
    std::uint32_t line = 0;  // of the kernel's own source, because the wrapper's lines change with each build
    std::optional<CrashClass> cause = std::nullopt;  // if the cause has another class than the outcome
};

Judgement judge_device(const DeviceFault& fault, const CrashReport& report) {
    const CudaError error = cuda_error(fault.error);
    Judgement result{fault.error == 0 ? CrashClass::kernel : error.kind, {}, {}, fault.kernel, fault.line};
    result.what = fault.error == 0 ? "fault" : std::to_string(fault.error);
    CrashCall call;
    if (const CrashCall* const known = report.call();
        report.faulted || (known && known->name == fault.kernel))
        call = *known;
    if (call.name.empty()) call.name = fault.kernel.empty() ? kUnknownKernel : fault.kernel;
    std::string_view words = fault.error == 0 ? "fault" : error.words;
    if (fault.is_trap) words = "trap (the kernel stopped itself)";
    result.verdict = std::string(words) + " in " + call_text_inside(call);
    const std::string access = access_words(fault, report.arguments);
    if (!access.empty()) result.verdict += ": " + access;
    if (const NearMemory* const freed = used_after_free(report))
        result.verdict += freed_words(*freed, access);
    if (fault.line != 0)
        result.verdict += ", at line " + std::to_string(fault.line) + " of " + source_words(fault);
    return result;
}

/// "; K (run 1, call 1) is running on the device, at line 22 of its source"
std::string running_words(const DeviceFault& running, const CrashReport& report) {
    CrashCall call;
    if (report.faulted) call = *report.faulted;
    if (call.name.empty()) call.name = running.kernel.empty() ? kUnknownKernel : running.kernel;
    const StuckCall& first = report.hang->calls.front();
    const bool is_it = first.nobody_waits && first.call.sequence == call.sequence;
    const bool is_reported = report.hang->by_markers && !is_it;  // the verdict says already that no call
                                                                 // waits
    std::string words = first.nobody_waits && !is_reported ? ", and no call waits for it; " : "; ";
    words += (is_it ? "it" : call_text_inside(call)) + " is running on the device";
    if (running.line != 0)
        words += ", at line " + std::to_string(running.line) + " of " + source_words(running);
    return words;
}

Judgement judge_hang(const Hang& hang, const CrashReport& report) {
    const StuckCall& first = hang.calls.front();
    // The fingerprint must not change with the text, so an overwritten launch keeps its older word.
    const std::string_view name =
        first.call.name == kOverwrittenLaunch ? kOverwrittenLaunchWord : std::string_view(first.call.name);
    Judgement result{CrashClass::hang, {}, clean(name), first.call.inside};
    if (!hang.unended.empty()) result.where = hang.unended.front().name;
    result.verdict = "hang: " + call_text(first.call);
    if (!first.call.inside.empty()) result.verdict += ", inside " + first.call.inside + ",";
    result.verdict += stalled_text(first);
    if (report.device) {
        const bool is_awaited =
            !hang.unended.empty() && is_name_of(hang.unended.front().name, report.device->kernel);
        // The launch known to be awaited is a different one, which may wait for this kernel.
        if (hang.by_markers && !is_awaited) result.verdict += unended_text(hang);
        result.verdict += running_words(*report.device, report);
        result.where = report.device->kernel;
        result.line = report.device->line;
    } else {
        result.verdict += unended_text(hang);
    }
    if (hang.calls.size() > 1)
        result.verdict += "; " + std::to_string(hang.calls.size()) + " threads are stalled";
    if (!report.end.is_running) result.verdict += then_words(report.end);
    return result;
}

/// Judges it like an assertion in a core dump.
void judge_assertion(const CrashReport& report, Judgement& result) {
    constexpr const char* kAssertion = "710";
    result.what = kAssertion;
    result.verdict += words_by_assertion(report);
    const bool is_one_kernel = report.faulted || !report.assertions.empty();
    result.where = !is_one_kernel ? "" : report.faulted ? report.faulted->name : report.suspects.front().name;
    if (report.assertions.size() == 1) result.line = report.assertions.front().line;
}

Judgement judge_failed(const CrashCall& call, const CrashReport& report) {
    Judgement result{CrashClass::host, {}, "failed", call.name};
    const std::string end = report.end.signal != 0 || report.end.exit_status ? then_words(report.end) : "";
    if (returns_cuda_error(call.kind) && call.result != 0) {
        const CudaError error = cuda_error(call.result);
        result.kind = error.kind;
        result.what = std::to_string(call.result);
        result.verdict = std::string(error.words) + " (CUDA error " + std::to_string(call.result) + ")";
        if (report.by_markers) {
            result.verdict += words_by_markers(report);
            // The other unended launches differ from run to run, so they are not part of the fingerprint.
            result.where = report.faulted ? report.faulted->name : "";
        } else {
            result.verdict += std::string(", returned by ") + (is_launch(call.kind) ? "the launch of " : "") +
                              call_text(call);
            if (report.by_assertion)
                judge_assertion(report, result);
            else if (error.kind == CrashClass::kernel)
                result.verdict += "; " + place_of_fault(call, report) + unfinished_words(report);
        }
    } else if (report.shortage) {
        result.kind = CrashClass::oom;
        result.what = "oom";
        result.verdict = "out of device memory: " + shortage_text(*report.shortage) + ", in " +
                         place_of_shortage(call, report);
    } else {
        result.verdict = failure_text(call);
    }
    result.verdict += end;
    return result;
}

/// The program continued and may have ended for another reason. The fingerprint is that of the failure.
Judgement judge_survived(const CrashCall& call, const CrashReport& report) {
    Judgement result = judge_failed(call, report);
    result.cause = std::exchange(result.kind, CrashClass::host);
    result.verdict = "the program exited with status " + std::to_string(*report.end.exit_status) +
                     "; earlier, " + failure_text(call);
    if (report.shortage)
        result.verdict += " for lack of device memory (" + shortage_text(*report.shortage) + ")";
    result.verdict += ", but later runs succeeded";
    return result;
}

Judgement judge_end(const CrashReport& report) {
    const CrashEnd& end = report.end;
    Judgement result;
    result.what = end.signal != 0 ? signal_name(end.signal) : "exit";
    result.verdict = ending_words(end) + place_words(report);
    // A watchdog thread aborts for its own reasons, whatever calls are in progress.
    const bool is_of_other = end.is_foreign_thread && end.signal == SIGABRT;
    if (const CrashCall* const call = report.call(); call != nullptr && !is_of_other)
        result.where = call->name;
    if (end.signal == SIGKILL) {
        const bool counted = report.oom_kills && *report.oom_kills > 0;
        result.verdict += counted ? "; likely by the kernel's out-of-memory killer, which killed " +
                                        std::to_string(*report.oom_kills) +
                                        (*report.oom_kills == 1 ? " process" : " processes") +
                                        " of this control group during the run"
                          : report.oom_kills ? "; the sender is unknown"
                                             : "; possibly by the kernel's out-of-memory killer (a guess)";
    } else if (const std::string_view probably = probable_end(report); !probably.empty()) {
        result.kind = CrashClass::host;
        result.verdict += probably;
    } else if (is_fault(end.signal) || (end.signal == 0 && end.has_own_status())) {
        result.kind = CrashClass::host;
    }
    return result;
}

bool is_about_failure(const CrashReport& report) {
    if (report.reported_failure() == nullptr) return false;
    const bool is_of_driver = returns_cuda_error(report.failed->kind);
    if (may_come_of_failure(report.end)) return report.in_flight.empty() || is_of_driver;
    return is_of_driver && ends_context(report.failed->result) && may_come_of_lost_context(report);
}

/// True for a shortage outside any call, where only the process's exit shows the failure.
bool is_about_shortage(const CrashReport& report) {
    const bool has_failed = report.end.signal == SIGABRT || report.end.exit_status.value_or(0) != 0;
    return report.shortage && !report.failed && report.in_flight.empty() && may_come_of_failure(report.end) &&
           has_failed;
}

Judgement judge_shortage(const CrashReport& report) {
    Judgement result{CrashClass::oom, {}, "oom", {}};
    result.verdict = "out of device memory: " + shortage_text(*report.shortage) + ", outside any call";
    if (report.last) result.verdict += "; the last call was " + call_text(*report.last);
    result.verdict += then_words(report.end);
    return result;
}

/// The number of the error is all that is known.
Judgement judge_unrecorded(const CrashReport& report) {
    const CudaError error = cuda_error(report.unrecorded_error);
    Judgement result{error.kind, {}, std::to_string(report.unrecorded_error), {}};
    result.verdict = std::string(error.words) + " (CUDA error " + result.what +
                     "), returned by a call that could not be recorded" + then_words(report.end);
    return result;
}

bool is_of_argument(const Finding& finding) {
    return finding.kind == Finding::Kind::argument;
}

/// True if the finding is about a failed call or its cause, and the program continued.
bool is_past(const Finding& finding, const CrashReport& report) {
    return report.failed && report.reported_failure() == nullptr && is_of_argument(finding) &&
           is_of_run_of(finding, *report.failed);
}

/// True if the program ended in the finding's run or outside any run. A finding of another run does not
/// explain the exit.
bool ended_in_run_of(const Finding& finding, const CrashReport& report) {
    return report.in_flight.empty() ||
           std::any_of(report.in_flight.begin(), report.in_flight.end(),
                       [&finding](const CrashCall& call) { return is_of_run_of(finding, call); });
}

/// Returns the invalid input of the failed run, which is the likely cause.
std::string cause_words(const CrashReport& report) {
    const CrashCall* const failed = report.reported_failure();
    const CrashCall* const call = failed != nullptr ? failed : report.call();
    if (!report.finding || !is_of_argument(*report.finding) || call == nullptr) return {};
    // That the run failed is the effect, not the cause.
    if (report.finding->check == "result") return {};
    if (!is_of_run_of(*report.finding, *call) || call->name == report.finding->kernel) return {};
    return "; its run started with a finding: " + argument_title(*report.finding);
}

Judgement judge(const CrashReport& report) {
    if (report.has_fault()) return judge_device(*report.device, report);
    if (report.hang && !report.hang->calls.empty()) return judge_hang(*report.hang, report);
    if (is_about_failure(report)) {
        const bool may_be_past = report.failed_survived && report.end.exit_status.value_or(0) != 0;
        return may_be_past ? judge_survived(*report.failed, report) : judge_failed(*report.failed, report);
    }
    if (is_about_shortage(report)) return judge_shortage(report);
    if (is_about_finding(report)) {
        // The kernel is only as good as its inputs.
        const bool is_host = is_of_argument(*report.finding);
        Judgement result{is_host ? CrashClass::host : CrashClass::kernel, finding_words(*report.finding),
                         std::string(word_of(report.finding->kind)), report.finding->kernel};
        if (is_host) result.what += " " + report.finding->check + " " + report.finding->tensor.label;
        if (report.findings > 1) result.verdict += ", and " + counted(report.findings - 1, "more finding");
        if (report.end.signal != 0 || report.end.exit_status.value_or(0) != 0)
            result.verdict += then_words(report.end);
        return result;
    }
    if (report.findings != 0 && !report.finding && report.end.signal == 0 && report.end.exit_status == 0)
        return {CrashClass::unknown,
                counted(report.findings, "finding") + ", none of them recorded",
                "findings",
                {}};
    if (report.unrecorded_error != 0 && report.processes == 0 && may_come_of_failure(report.end))
        return judge_unrecorded(report);
    return judge_end(report);
}

}  // namespace

bool is_about_finding(const CrashReport& report) {
    return !report.device && !report.hang && !is_about_failure(report) && !is_about_shortage(report) &&
           report.finding && may_come_of_failure(report.end) && !is_past(*report.finding, report) &&
           ended_in_run_of(*report.finding, report);
}

const CrashCall* CrashReport::call() const {
    if (found) return &*found;
    if (faulted) return &*faulted;
    if (!suspects.empty()) return nullptr;
    return in_flight.size() == 1 ? &in_flight.front() : nullptr;
}

const CrashCall* CrashReport::reported_failure() const {
    const bool is_past = failed_survived && end.signal != 0;
    return failed && !is_past ? &*failed : nullptr;
}

bool is_of_run_of(const Finding& finding, const CrashCall& call) {
    const bool may_be_of_model = finding.model == call.model || finding.model == ~0U || call.model == ~0U;
    return finding.run == call.run && may_be_of_model;
}

bool may_come_of_failure(const CrashEnd& end) {
    return end.signal == 0 || end.signal == SIGABRT;
}

bool has_unknown_end(const CrashReport& report) {
    return !report.end.is_known() && !report.in_flight.empty() && report.oom_kills.value_or(0) == 0;
}

bool may_come_of_lost_context(const CrashReport& report) {
    const CrashEnd& end = report.end;
    return may_come_of_failure(end) ||
           (is_fault(end.signal) && end.is_foreign_thread && report.in_flight.empty());
}

bool is_fault(int signal) {
    for (const int fault : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
        if (signal == fault) return true;
    return false;
}

std::uint32_t code_of(const CrashReport& report) {
    constexpr std::uint32_t kFirstClass = 2001;  // CrashClass::kernel
    const std::uint32_t of_class = kFirstClass + static_cast<std::uint32_t>(report.kind);
    const std::uint32_t of_finding = is_about_finding(report) ? code_of(*report.finding) : 0;
    return of_finding != 0 ? of_finding : of_class;
}

void conclude(CrashReport& report) {
    const Judgement judgement = judge(report);
    report.kind = judgement.kind;
    report.verdict = judgement.verdict;
    if (!is_about_finding(report)) report.verdict += cause_words(report);
    const std::string_view kind = word_of(judgement.cause.value_or(judgement.kind));
    const std::string_view where = without_ordinal(judgement.where);
    const std::string line = judgement.line == 0 ? "" : std::to_string(judgement.line);
    report.fingerprint = fingerprint_of({kind, judgement.what, where, line});
    report.coarse_fingerprint = fingerprint_of({kind, judgement.what, where, ""});
    report.repeat = ways_to_repeat(report);
    report.next = advice_for(report, is_about_finding(report));
}

}  // namespace aoti_dbg
