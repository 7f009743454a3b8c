// See evidence.hpp.
#include "triage/judge/evidence.hpp"

#include <algorithm>
#include <csignal>

#include "serializer/cuda_error.hpp"

namespace aoti_dbg {
namespace {

bool is_of_argument(const Finding& finding) {
    return finding.kind == Finding::Kind::argument;
}

/// True if the finding is about a failed call or its cause, and the program continued.
bool is_past(const Finding& finding, const Evidence& evidence) {
    return evidence.failed && evidence.reported_failure() == nullptr && is_of_argument(finding) &&
           is_of_run_of(finding, *evidence.failed);
}

/// True if the program ended in the finding's run or outside any run. A finding of another run does not
/// explain the exit.
bool ended_in_run_of(const Finding& finding, const Evidence& evidence) {
    return evidence.in_flight.empty() ||
           std::any_of(evidence.in_flight.begin(), evidence.in_flight.end(),
                       [&finding](const CrashCall& call) { return is_of_run_of(finding, call); });
}

}  // namespace

bool is_about_failure(const Evidence& evidence) {
    if (evidence.reported_failure() == nullptr) return false;
    const bool is_of_driver = returns_cuda_error(evidence.failed->kind);
    if (may_come_of_failure(evidence.end)) return evidence.in_flight.empty() || is_of_driver;
    return is_of_driver && ends_context(evidence.failed->result) && may_come_of_lost_context(evidence);
}

bool is_about_shortage(const Evidence& evidence) {
    const bool has_failed = evidence.end.signal == SIGABRT || evidence.end.exit_status.value_or(0) != 0;
    return evidence.shortage && !evidence.failed && evidence.in_flight.empty() &&
           may_come_of_failure(evidence.end) && has_failed;
}

bool is_about_finding(const Evidence& evidence) {
    return !evidence.device && !evidence.hang && !is_about_failure(evidence) &&
           !is_about_shortage(evidence) && evidence.finding && may_come_of_failure(evidence.end) &&
           !is_past(*evidence.finding, evidence) && ended_in_run_of(*evidence.finding, evidence);
}

const CrashCall* Evidence::call() const {
    if (found) return &*found;
    if (faulted) return &*faulted;
    if (!suspects.empty()) return nullptr;
    return in_flight.size() == 1 ? &in_flight.front() : nullptr;
}

const CrashCall* Evidence::reported_failure() const {
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

bool has_unknown_end(const Evidence& evidence) {
    return !evidence.end.is_known() && !evidence.in_flight.empty() && evidence.oom_kills.value_or(0) == 0;
}

bool may_come_of_lost_context(const Evidence& evidence) {
    const CrashEnd& end = evidence.end;
    return may_come_of_failure(end) ||
           (is_fault(end.signal) && end.is_foreign_thread && evidence.in_flight.empty());
}

bool is_fault(int signal) {
    for (const int fault : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
        if (signal == fault) return true;
    return false;
}

bool is_memory_fault(std::int32_t error) {
    return error == 700 || error == 716 || error == 717;
}

}  // namespace aoti_dbg
