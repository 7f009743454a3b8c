#include "triage/judge/verdict_words.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "triage/judge/memory_words.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostNamed = 4;  // the page lists all of them

/// A file may contain any number.
bool is_signal(int number) {
    return number > 0 && number < NSIG;
}

std::string guess_words(const CrashEnd& end) {
    if (!end.signal_is_guessed) return {};
    return end.exit_status ? ", inferred from the exit status" : ", inferred from the end of the program";
}

/// "segmentation fault (SIGSEGV)"
std::string signal_words(const CrashEnd& end) {
    const char* const described = is_signal(end.signal) ? sigdescr_np(end.signal) : nullptr;
    std::string words = described == nullptr ? "signal" : described;
    words.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(words.front())));
    return words + " (" + signal_name(end.signal) + guess_words(end) + ")";
}

/// The run did not return, and none of its calls was open. A run that an exception unwound looks the same
/// until its thread makes another call.
std::string place_in_run(const CrashCall& run, const Evidence& evidence) {
    const bool has_last = !evidence.before.empty() && evidence.before.front().run == run.run;
    if (!has_last)
        return " inside " + call_text(run) +
               ", or after an exception unwound it; no call of the run was recorded";
    return " between two calls of " + call_text(run) +
           ", or after an exception unwound it; the last call was " + call_text(evidence.before.front());
}

/// "K (run 7, call 41), L (run 7, call 42) and 3 more": `calls` holds the first of `count` calls.
std::string first_of(const std::vector<CrashCall>& calls, std::uint64_t count,
                     std::string (*text_of)(const CrashCall&)) {
    const std::size_t named = std::min(calls.size(), kMostNamed);
    std::string text;
    for (std::size_t i = 0; i < named; ++i)
        text += (i == 0 ? "" : ", ") + text_of(calls[i]);
    return count > named ? text + " and " + std::to_string(count - named) + " more" : text;
}

/// " (2 of them without source)"
std::string without_source_words(const Evidence& evidence) {
    if (evidence.without_source == 0) return {};
    return " (" + std::to_string(evidence.without_source) + " of them without source)";
}

std::string unlikely_text(CrashCall call) {
    call.is_likely = false;
    return call_text_inside(call);
}

}  // namespace

std::string ending_words(const CrashEnd& end) {
    if (end.signal != 0) return signal_words(end);
    if (end.has_own_status()) return "the program exited with status " + std::to_string(*end.exit_status);
    return "process " + std::to_string(end.pid) + " ended" + (end.is_normal_exit ? "" : " abnormally");
}

std::string then_words(const CrashEnd& end) {
    if (end.signal != 0) {
        const std::string guess = guess_words(end);
        return "; the process then ended with " + signal_name(end.signal) +
               (guess.empty() ? "" : " (" + guess.substr(2) + ")");
    }
    if (end.has_own_status())
        return "; the program then exited with status " + std::to_string(*end.exit_status);
    return "; process " + std::to_string(end.pid) + " then ended" + (end.is_normal_exit ? "" : " abnormally");
}

std::string place_words(const Evidence& evidence) {
    const std::string foreign =
        evidence.end.is_foreign_thread ? " in a thread without calls of its own," : std::string();
    if (const CrashCall* const call = evidence.call()) {
        if (!foreign.empty()) return foreign + " while " + call_text(*call) + " was running";
        if (call->kind == ring::CallKind::run) return place_in_run(*call, evidence);
        return " inside " + call_text(*call);
    }
    if (evidence.in_flight.empty()) {
        if (evidence.last) return " outside any call; the last call was " + call_text(*evidence.last);
        if (!evidence.also_in_flight.empty()) return " outside any call";
        if (evidence.calls != 0) return "; this process recorded no model call";
        if (evidence.processes == 0 && evidence.recording != 0)
            return "; calls were made but could not be recorded";
        return "; no model call was recorded";
    }
    const std::size_t count = evidence.in_flight.size();
    return foreign + " while " + std::to_string(count) +
           " threads were inside calls: " + first_of(evidence.in_flight, count, call_text);
}

std::string finding_words(const Finding& finding) {
    CrashCall call;
    call.name = finding.kernel;
    call.run = finding.run;
    call.call = finding.call;
    const std::string label = clean_text(finding.tensor.label);
    switch (finding.kind) {
        case Finding::Kind::input_nan:
            return "NaN in the model input " + label;
        case Finding::Kind::weight_nan:
            return "NaN in the weight " + label;
        case Finding::Kind::argument:
            return argument_title(finding) + place_text(call);
        case Finding::Kind::inf:
            return "Inf in " + label + ", written by " + call_text(call);
        case Finding::Kind::nan:
            break;
    }
    return "NaN in " + label + ", first made by " + call_text(call);
}

std::string source_words(const DeviceFault& fault) {
    const std::string name = fault.file.substr(fault.file.rfind('/') + 1);
    const bool is_python = name.size() > 3 && name.compare(name.size() - 3, 3, ".py") == 0;
    return name.empty() || is_python ? "its source" : clean_text(name);
}

std::string call_text_inside(const CrashCall& call) {
    return call.inside.empty() ? call_text(call) : clean_text(call.name) + ", inside " + call.inside;
}

const NearMemory* used_after_free(const std::vector<NearMemory>& memory) {
    return memory.size() == 1 && memory.front().is_use_after_free() ? &memory.front() : nullptr;
}

std::string freed_words(const NearMemory& freed, std::string_view access) {
    return (access.empty() ? ": use of freed memory (" : ", which is freed memory (") + freed_text(freed) +
           ")";
}

std::string place_of_fault(const CrashCall& call, const Evidence& evidence) {
    if (!is_launch(call.kind)) return "the fault is in an earlier launch";
    if (evidence.failed_alone) return "launches waited for their kernels, so the fault is in this kernel";
    return "the fault is in this kernel or in an earlier launch";
}

std::string unfinished_words(const Evidence& evidence) {
    if (evidence.unended.empty()) return {};
    const std::string launches = evidence.unended_count == 1
                                     ? "1 launch was"
                                     : std::to_string(evidence.unended_count) + " launches were";
    return "; " + launches + " not known to have finished: " +
           first_of(evidence.unended, evidence.unended_count, call_text_inside);
}

std::string words_by_markers(const Evidence& evidence) {
    constexpr const char* kSource = "according to completion markers";
    if (evidence.faulted)
        return (evidence.faulted->is_likely ? ", likely in " : " in ") + unlikely_text(*evidence.faulted) +
               ", " + kSource;
    return " in one of " + std::to_string(evidence.suspect_count) +
           " unfinished launches, none queued behind another, " + kSource + ": " +
           first_of(evidence.suspects, evidence.suspect_count, call_text_inside);
}

std::string words_by_assertion(const Evidence& evidence) {
    const std::string unfinished = std::to_string(evidence.unended_count) +
                                   " launches not known to have finished" + without_source_words(evidence);
    if (!evidence.faulted)
        return "; likely in one of " + std::to_string(evidence.suspect_count) +
               " launches with assertions, of " + unfinished + ": " +
               first_of(evidence.suspects, evidence.suspect_count, call_text_inside);
    std::string words = "; likely in " + unlikely_text(*evidence.faulted);
    if (evidence.assertions.size() == 1)
        words += ", at line " + std::to_string(evidence.assertions.front().line) + " of its source";
    if (evidence.unended_count == 1)
        return words + ": it has an assertion and is the only launch not known to have finished";
    return words + ": of " + unfinished + ", only this one has an assertion";
}

std::string place_of_shortage(const CrashCall& call, const Evidence& evidence) {
    if (call.kind != ring::CallKind::run) return call_text_inside(call);
    const bool is_after = evidence.last && evidence.last->run == call.run;
    return "run " + std::to_string(call.run) + (is_after ? ", after " + call_text(*evidence.last) : "");
}

std::string_view probable_end(const Evidence& evidence) {
    if (!has_unknown_end(evidence)) return {};
    if (evidence.end.is_normal_exit)
        return "; likely the call ended the process with _exit, or the program's own signal handler did";
    return "; likely by SIGKILL, or by a signal that the program's own handler caught";
}

std::string signal_name(int signal) {
    const char* const name = is_signal(signal) ? sigabbrev_np(signal) : nullptr;
    return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

}  // namespace aoti_dbg
