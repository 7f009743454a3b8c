// Judges the evidence: one verdict and its class. It has no side effects.
#include "triage/judge/verdict.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "serializer/codes.hpp"
#include "triage/judge/advice.hpp"
#include "triage/judge/memory_words.hpp"
#include "triage/judge/repeat_commands.hpp"
#include "triage/judge/verdict_words.hpp"

namespace aoti_dbg {
namespace {

constexpr const char* kUnknownKernel = "an unknown kernel";

std::string_view finding_word(Finding::Kind kind) {
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
    std::string headline;
    std::string what;  // what failed, in a word for the fingerprint
    std::string where;
    std::uint32_t line = 0;  // of the kernel's own source, because the wrapper's lines change with each build
    std::optional<CrashClass> cause = std::nullopt;  // if the cause has another class than the outcome
};

Judgement judge_device(const DeviceFault& fault, const Evidence& evidence, const Verdict& verdict) {
    const CudaError error = cuda_error(fault.error);
    Judgement result{fault.error == 0 ? CrashClass::kernel : error.kind, {}, {}, fault.kernel, fault.line};
    result.what = fault.error == 0 ? "fault" : std::to_string(fault.error);
    CrashCall call;
    if (const CrashCall* const known = evidence.call();
        evidence.faulted || (known && known->name == fault.kernel))
        call = *known;
    if (call.name.empty()) call.name = fault.kernel.empty() ? kUnknownKernel : fault.kernel;
    std::string_view words = fault.error == 0 ? "fault" : error.words;
    if (fault.is_trap) words = "trap (the kernel stopped itself)";
    result.headline = std::string(words) + " in " + call_text_inside(call);
    const std::string access = access_words(fault, evidence.arguments, verdict.access);
    if (!access.empty()) result.headline += ": " + access;
    if (const NearMemory* const freed = used_after_free(verdict.memory))
        result.headline += freed_words(*freed, access);
    if (fault.line != 0)
        result.headline += ", at line " + std::to_string(fault.line) + " of " + source_words(fault);
    return result;
}

/// "; K (run 1, call 1) is running on the device, at line 22 of its source"
std::string running_words(const DeviceFault& running, const Evidence& evidence) {
    CrashCall call;
    if (evidence.faulted) call = *evidence.faulted;
    if (call.name.empty()) call.name = running.kernel.empty() ? kUnknownKernel : running.kernel;
    const StuckCall& first = evidence.hang->calls.front();
    const bool is_it = first.is_without_wait && first.call.sequence == call.sequence;
    const bool is_reported = evidence.hang->by_markers && !is_it;  // the verdict says already that no call
                                                                   // waits
    std::string words = first.is_without_wait && !is_reported ? ", and no call waits for it; " : "; ";
    words += (is_it ? "it" : call_text_inside(call)) + " is running on the device";
    if (running.line != 0)
        words += ", at line " + std::to_string(running.line) + " of " + source_words(running);
    return words;
}

Judgement judge_hang(const Hang& hang, const Evidence& evidence) {
    const StuckCall& first = hang.calls.front();
    // The fingerprint must not change with the text, so an overwritten launch keeps its older word.
    const std::string_view name =
        first.call.name == kOverwrittenLaunch ? kOverwrittenLaunchWord : std::string_view(first.call.name);
    Judgement result{CrashClass::hang, {}, clean_text(name), first.call.inside};
    if (!hang.unended.empty()) result.where = hang.unended.front().name;
    result.headline = "hang: " + call_text(first.call);
    if (!first.call.inside.empty()) result.headline += ", inside " + first.call.inside + ",";
    result.headline += stalled_text(first);
    if (evidence.device) {
        const bool is_awaited =
            !hang.unended.empty() && is_name_of(hang.unended.front().name, evidence.device->kernel);
        // The launch known to be awaited is a different one, which may wait for this kernel.
        if (hang.by_markers && !is_awaited) result.headline += unended_text(hang);
        result.headline += running_words(*evidence.device, evidence);
        result.where = evidence.device->kernel;
        result.line = evidence.device->line;
    } else {
        result.headline += unended_text(hang);
    }
    if (hang.calls.size() > 1)
        result.headline += "; " + std::to_string(hang.calls.size()) + " threads are stalled";
    if (!evidence.end.is_running) result.headline += then_words(evidence.end);
    return result;
}

/// Judges it like an assertion in a core dump.
void judge_assertion(const Evidence& evidence, Judgement& result) {
    constexpr const char* kAssertion = "710";
    result.what = kAssertion;
    result.headline += words_by_assertion(evidence);
    const bool is_one_kernel = evidence.faulted || !evidence.assertions.empty();
    result.where = !is_one_kernel     ? ""
                   : evidence.faulted ? evidence.faulted->name
                                      : evidence.suspects.front().name;
    if (evidence.assertions.size() == 1) result.line = evidence.assertions.front().line;
}

Judgement judge_failed(const CrashCall& call, const Evidence& evidence) {
    Judgement result{CrashClass::host, {}, "failed", call.name};
    const std::string end =
        evidence.end.signal != 0 || evidence.end.exit_status ? then_words(evidence.end) : "";
    if (returns_cuda_error(call.kind) && call.result != 0) {
        const CudaError error = cuda_error(call.result);
        result.kind = error.kind;
        result.what = std::to_string(call.result);
        result.headline = std::string(error.words) + " (CUDA error " + std::to_string(call.result) + ")";
        if (evidence.by_markers) {
            result.headline += words_by_markers(evidence);
            // The other unended launches differ from run to run, so they are not part of the fingerprint.
            result.where = evidence.faulted ? evidence.faulted->name : "";
        } else {
            result.headline += std::string(", returned by ") +
                               (is_launch(call.kind) ? "the launch of " : "") + call_text(call);
            if (evidence.by_assertion)
                judge_assertion(evidence, result);
            else if (error.kind == CrashClass::kernel)
                result.headline += "; " + place_of_fault(call, evidence) + unfinished_words(evidence);
        }
    } else if (evidence.shortage) {
        result.kind = CrashClass::oom;
        result.what = "oom";
        result.headline = "out of device memory: " + shortage_text(*evidence.shortage) + ", in " +
                          place_of_shortage(call, evidence);
    } else {
        result.headline = failure_text(call);
    }
    result.headline += end;
    return result;
}

/// The program continued and may have ended for another reason. The fingerprint is that of the failure.
Judgement judge_survived(const CrashCall& call, const Evidence& evidence) {
    Judgement result = judge_failed(call, evidence);
    result.cause = std::exchange(result.kind, CrashClass::host);
    result.headline = "the program exited with status " + std::to_string(*evidence.end.exit_status) +
                      "; earlier, " + failure_text(call);
    if (evidence.shortage)
        result.headline += " for lack of device memory (" + shortage_text(*evidence.shortage) + ")";
    result.headline += ", but later runs succeeded";
    return result;
}

Judgement judge_end(const Evidence& evidence) {
    const CrashEnd& end = evidence.end;
    Judgement result;
    result.what = end.signal != 0 ? signal_name(end.signal) : "exit";
    result.headline = ending_words(end) + place_words(evidence);
    // A watchdog thread aborts for its own reasons, whatever calls are in progress.
    const bool is_of_other = end.is_foreign_thread && end.signal == SIGABRT;
    if (const CrashCall* const call = evidence.call(); call != nullptr && !is_of_other)
        result.where = call->name;
    if (end.signal == SIGKILL) {
        const bool counted = evidence.oom_kills && *evidence.oom_kills > 0;
        result.headline += counted ? "; likely by the kernel's out-of-memory killer, which killed " +
                                         std::to_string(*evidence.oom_kills) +
                                         (*evidence.oom_kills == 1 ? " process" : " processes") +
                                         " of this control group during the run"
                           : evidence.oom_kills ? "; the sender is unknown"
                                                : "; possibly by the kernel's out-of-memory killer (a guess)";
    } else if (const std::string_view probably = probable_end(evidence); !probably.empty()) {
        result.kind = CrashClass::host;
        result.headline += probably;
    } else if (is_fault(end.signal) || (end.signal == 0 && end.has_own_status())) {
        result.kind = CrashClass::host;
    }
    return result;
}

Judgement judge_shortage(const Evidence& evidence) {
    Judgement result{CrashClass::oom, {}, "oom", {}};
    result.headline = "out of device memory: " + shortage_text(*evidence.shortage) + ", outside any call";
    if (evidence.last) result.headline += "; the last call was " + call_text(*evidence.last);
    result.headline += then_words(evidence.end);
    return result;
}

/// The number of the error is all that is known.
Judgement judge_unrecorded(const Evidence& evidence) {
    const CudaError error = cuda_error(evidence.unrecorded_error);
    Judgement result{error.kind, {}, std::to_string(evidence.unrecorded_error), {}};
    result.headline = std::string(error.words) + " (CUDA error " + result.what +
                      "), returned by a call that could not be recorded" + then_words(evidence.end);
    return result;
}

/// Returns the invalid input of the failed run, which is the likely cause.
std::string cause_words(const Evidence& evidence) {
    const CrashCall* const failed = evidence.reported_failure();
    const CrashCall* const call = failed != nullptr ? failed : evidence.call();
    if (!evidence.finding || evidence.finding->kind != Finding::Kind::argument || call == nullptr) return {};
    // That the run failed is the effect, not the cause.
    if (evidence.finding->check == "result") return {};
    if (!is_of_run_of(*evidence.finding, *call) || call->name == evidence.finding->kernel) return {};
    return "; its run started with a finding: " + argument_title(*evidence.finding);
}

Judgement judgement_of(const Evidence& evidence, const Verdict& verdict) {
    if (evidence.has_fault()) return judge_device(*evidence.device, evidence, verdict);
    if (evidence.hang && !evidence.hang->calls.empty()) return judge_hang(*evidence.hang, evidence);
    if (is_about_failure(evidence)) {
        const bool may_be_past = evidence.failed_survived && evidence.end.exit_status.value_or(0) != 0;
        return may_be_past ? judge_survived(*evidence.failed, evidence)
                           : judge_failed(*evidence.failed, evidence);
    }
    if (is_about_shortage(evidence)) return judge_shortage(evidence);
    if (is_about_finding(evidence)) {
        // The kernel is only as good as its inputs.
        const bool is_host = evidence.finding->kind == Finding::Kind::argument;
        Judgement result{is_host ? CrashClass::host : CrashClass::kernel, finding_words(*evidence.finding),
                         std::string(finding_word(evidence.finding->kind)), evidence.finding->kernel};
        if (is_host) result.what += " " + evidence.finding->check + " " + evidence.finding->tensor.label;
        if (evidence.finding_count > 1)
            result.headline += ", and " + counted(evidence.finding_count - 1, "more finding");
        if (evidence.end.signal != 0 || evidence.end.exit_status.value_or(0) != 0)
            result.headline += then_words(evidence.end);
        return result;
    }
    if (evidence.finding_count != 0 && !evidence.finding && evidence.end.signal == 0 &&
        evidence.end.exit_status == 0)
        return {CrashClass::unknown,
                counted(evidence.finding_count, "finding") + ", none of them recorded",
                "findings",
                {}};
    if (evidence.unrecorded_error != 0 && evidence.processes == 0 && may_come_of_failure(evidence.end))
        return judge_unrecorded(evidence);
    return judge_end(evidence);
}

std::uint32_t code_of(CrashClass kind, const Evidence& evidence) {
    constexpr std::uint32_t kFirstClass = 2001;  // CrashClass::kernel
    const std::uint32_t of_class = kFirstClass + static_cast<std::uint32_t>(kind);
    const std::uint32_t of_finding = is_about_finding(evidence) ? code_of(*evidence.finding) : 0;
    return of_finding != 0 ? of_finding : of_class;
}

Culprit culprit_of(const Evidence& evidence, const PlacedAccess& access) {
    Culprit culprit;
    culprit.arguments = access.suspects;
    culprit.is_argument_certain = evidence.found || (!access.label.empty() && !access.is_likely);
    if (evidence.found)
        for (std::size_t i = 0; i < evidence.arguments.size(); ++i)
            if (evidence.arguments[i].label == evidence.finding->tensor.label) culprit.arguments.push_back(i);
    const CrashCall* call = evidence.call();
    if (call == nullptr && evidence.suspects.empty()) call = evidence.reported_failure();
    if (call != nullptr) culprit.call = *call;
    return culprit;
}

bool is_worth_reporting(const Evidence& evidence) {
    const CrashEnd& end = evidence.end;
    const bool is_inside = evidence.failed || !evidence.in_flight.empty();
    if (end.signal != 0 || evidence.finding_count != 0 || evidence.device || evidence.hang) return true;
    if (evidence.unrecorded_error != 0 || (evidence.has_dead_context && evidence.failed)) return true;
    if (!evidence.is_exit_known && is_inside) return true;
    return end.exit_status.value_or(0) != 0 &&
           (is_inside || evidence.shortage || evidence.has_unexplained_end);
}

}  // namespace

Verdict judge(const Evidence& evidence) {
    Verdict verdict;
    verdict.access = place_access(evidence);
    verdict.memory = judged_memory(evidence, verdict.access);
    const Judgement judgement = judgement_of(evidence, verdict);
    verdict.kind = judgement.kind;
    verdict.code = code_of(judgement.kind, evidence);
    verdict.headline = judgement.headline;
    if (!is_about_finding(evidence)) verdict.headline += cause_words(evidence);
    verdict.culprit = culprit_of(evidence, verdict.access);
    verdict.culprit.kernel = judgement.where;
    verdict.culprit.line = judgement.line;
    const std::string_view kind = word_of(judgement.cause.value_or(judgement.kind));
    const std::string_view where = without_ordinal(judgement.where);
    const std::string line = judgement.line == 0 ? "" : std::to_string(judgement.line);
    verdict.fingerprint = fingerprint_of({kind, judgement.what, where, line});
    verdict.coarse_fingerprint = fingerprint_of({kind, judgement.what, where, ""});
    verdict.repeat = ways_to_repeat(evidence);
    verdict.advice = advice_for(verdict.kind, evidence);
    verdict.is_worth_reporting = is_worth_reporting(evidence);
    return verdict;
}

}  // namespace aoti_dbg
