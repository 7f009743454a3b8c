// See report_output.hpp.
#include "cli/report/report_output.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/report/old_reports.hpp"
#include "cli/report/report_files.hpp"
#include "serializer/finding.hpp"
#include "triage/gather/gather.hpp"
#include "triage/judge/verdict.hpp"
#include "triage/render/ci_output.hpp"
#include "triage/render/report_text.hpp"

namespace aoti_dbg::cli {
namespace {

bool exited_normally(const EndedRun& run) {
    return WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0;
}

/// The failure message of a run without a report.
std::string end_text(const EndedRun& run) {
    if (WIFSIGNALED(run.status)) return "the program ended with " + signal_name(WTERMSIG(run.status));
    return "the program exited with status " + std::to_string(WEXITSTATUS(run.status));
}

/// A child process may have crashed even if the program exited with 0.
bool has_crashed_below(const EndedRun& run, const Report& report) {
    return run.has_status && exited_normally(run) && report.evidence.end.signal != 0;
}

/// Returns the path of report.json, or an empty string if there is none.
std::string leave_report(const Report& report, const EndedRun& run) {
    const std::string text = report_text(report);
    write_quietly(STDERR_FILENO, text.data(), text.size());
    const Result<std::string> path = write_report(report, text, run.folder);
    if (path.ok()) return path.value();
    message(Severity::warn, "%s. The report is on standard error only. %s", path.status().message().c_str(),
            remedy_for(path.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    return {};
}

void leave_verdict(const Report& report, const std::string& report_path, const std::string& file) {
    if (file.empty()) return;
    const Status appended = append_verdict(report, report_path, file);
    if (!appended.ok())
        message(Severity::warn, "%s. The verdict is lost. %s", appended.message().c_str(),
                remedy_for(appended, "AOTI_DBG_VERDICT_FILE", PlaceKind::file).c_str());
}

std::string finding_text(const aoti_dbg::Finding& finding) {
    std::string text;
    append_finding_text(finding, text);
    return text;
}

/// Returns the first line of its text without brackets: `[ finding 1: NaN in buf4, ... ]`
std::string finding_title(const aoti_dbg::Finding& finding) {
    const std::string text = finding_text(finding);
    const std::string line = text.substr(0, text.find('\n'));
    return line.size() > 4 ? line.substr(2, line.size() - 4) : line;
}

/// Summarizes the findings that the report does not list one by one.
std::string rest_text(const Evidence& evidence) {
    if (evidence.finding_count <= evidence.findings.size()) return {};
    const std::uint64_t rest = evidence.finding_count - evidence.findings.size();
    if (evidence.findings.empty()) return counted(rest, "finding") + ", none of them recorded";
    return counted(rest, "more finding") +
           "; events.jsonl in the output folder has those that could be written";
}

void annotate(const EndedRun& run, const Report& report, const RequirementResult& requirement) {
    std::string lines = "\n";  // the program's output may lack a final newline
    const bool is_about_finding =
        (exited_normally(run) && !has_crashed_below(run, report)) || !report.verdict.is_worth_reporting;
    if (!is_about_finding)
        lines +=
            github_error("aoti-dbg: " + std::string(word_of(report.verdict.kind)), report.verdict.headline);
    for (const aoti_dbg::Finding& finding : report.evidence.findings)
        lines += github_error("aoti-dbg: " + finding_title(finding), finding_text(finding));
    if (const std::string rest = rest_text(report.evidence);
        !rest.empty() && report.evidence.findings.empty())
        lines += github_error("aoti-dbg: findings", rest);
    if (!requirement.is_met) lines += github_error("aoti-dbg: requirement not met", requirement.said);
    if (lines.size() > 1) write_quietly(STDERR_FILENO, lines.data(), lines.size());
}

std::vector<JunitCase> junit_cases(const EndedRun& run, const Report& report,
                                   const RequirementResult& requirement) {
    std::vector<JunitCase> cases;
    JunitCase& program = cases.emplace_back(JunitCase{"the program succeeds", {}, {}});
    if (!exited_normally(run)) {
        program.failure = report.verdict.is_worth_reporting ? report.verdict.headline : end_text(run);
        if (report.verdict.is_worth_reporting) program.details = report_text(report);
    }
    if (has_crashed_below(run, report)) {
        JunitCase& below = cases.emplace_back(JunitCase{"its child processes succeed", {}, {}});
        below.failure = report.verdict.headline;
        below.details = report_text(report);
    }
    if (requirement.was_asked) {
        cases.push_back({"the requirement is met", requirement.is_met ? "" : requirement.said, {}});
    }
    if (report.evidence.finding_count == 0) cases.push_back({"no findings", {}, {}});
    for (const aoti_dbg::Finding& finding : report.evidence.findings)
        cases.push_back({finding_title(finding), finding_title(finding), finding_text(finding)});
    if (const std::string rest = rest_text(report.evidence); !rest.empty())
        cases.push_back({report.evidence.findings.empty() ? "no findings" : "no more findings", rest, {}});
    return cases;
}

void write_junit(const std::string& file, const EndedRun& run, const Report& report,
                 const RequirementResult& requirement) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const double seconds = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 -
                           static_cast<double>(run.start_unix_ns) / 1e9;
    const std::string text = junit_xml(std::filesystem::path(run.command.front()).filename().string(),
                                       seconds < 0 ? 0 : seconds, junit_cases(run, report, requirement));
    const Result<std::string> written = write_for_others(file, text);
    if (!written.ok()) {
        message(Severity::warn, "%s. The JUnit results are lost. %s", written.status().message().c_str(),
                remedy_for(written.status(), "--junit", PlaceKind::file).c_str());
    } else if (std::filesystem::path(written.value()).filename() != std::filesystem::path(file).filename()) {
        message(Severity::warn, "%s already exists. The JUnit results of this run are in %s.", file.c_str(),
                written.value().c_str());
    }
}

void summarize(const Evidence& evidence, const std::string& report_path) {
    const auto ending = [](std::uint64_t number) { return number == 1 ? "" : "s"; };
    message(Severity::info,
            "%" PRIu64 " process%s recorded %" PRIu64 " run%s and %" PRIu64 " call%s; %" PRIu64
            " finding%s; report: %s",
            evidence.processes, evidence.processes == 1 ? "" : "es", evidence.runs, ending(evidence.runs),
            evidence.calls, ending(evidence.calls), evidence.finding_count, ending(evidence.finding_count),
            report_path.empty() ? "none" : report_path.c_str());
}

/// Whether AOTI_DBG_OUT, or its default, gives each run its own directory.
bool has_own_folder() {
    const char* const pattern = std::getenv("AOTI_DBG_OUT");
    if (pattern == nullptr || *pattern == '\0') return true;
    std::string name = pattern;
    while (name.size() > 1 && name.back() == '/')
        name.pop_back();
    name.erase(0, name.find_last_of('/') + 1);
    return name.find("%p") != std::string::npos || name.find("%t") != std::string::npos;
}

/// Returns the path of report.json.
std::string leave_all(const Report& report, const EndedRun& run, const Audience& audience) {
    std::string path = leave_report(report, run);
    leave_verdict(report, path, audience.verdict_file);
    return path;
}

/// A dump that says no more than the report is not needed any more.
void remove_dump(const std::optional<DeviceFault>& fault) {
    if (fault && !fault->dump.empty() && !fault->is_dump_of_others) unlink(fault->dump.c_str());
}

}  // namespace

void say_where(const std::string& report_path) {
    if (report_path.empty()) return;
    std::error_code failed;
    const std::string path = std::filesystem::absolute(report_path, failed).string();
    message(Severity::info, "report: %s", path.c_str());
}

Audience audience_of(const Options& options) {
    Audience audience;
    audience.triage = options.triage;
    audience.hangs = options.hang != 0;
    audience.keeps_dump = options.keep_dump;
    audience.summary = options.ci;
    audience.verdict_file = options.verdict_file;
    if (has_own_folder()) audience.max_reports = options.max_reports;
    return audience;
}

std::uint64_t report_run(const EndedRun& run, const Audience& audience,
                         const RequirementResult& requirement) {
    // A closed pipe must not end the command before the report is complete.
    std::signal(SIGPIPE, SIG_IGN);
    Report report{gather(run), {}};
    report.verdict = judge(report.evidence);
    const Evidence& evidence = report.evidence;
    const bool is_requested = audience.triage || (audience.hangs && evidence.hang);
    std::string report_path = run.earlier_report.value_or("");
    if (!run.earlier_report && is_requested && report.verdict.is_worth_reporting) {
        report_path = leave_all(report, run, audience);
        if (!report_path.empty() && !audience.keeps_dump) remove_dump(evidence.device);
        if (!report_path.empty()) remove_old_reports(run.folder, audience.max_reports);
        if (!audience.summary) say_where(report_path);
    }
    if (audience.summary) summarize(evidence, report_path);
    if (audience.github) annotate(run, report, requirement);
    if (!audience.junit.empty()) write_junit(audience.junit, run, report, requirement);
    const bool is_of_device = evidence.device || (evidence.hang && evidence.hang->is_recorded);
    return evidence.finding_count + (is_of_device ? 1 : 0) + (has_crashed_below(run, report) ? 1 : 0);
}

std::optional<std::string> report_hang(const EndedRun& run, const Audience& audience) {
    if (!audience.triage && !audience.hangs) return std::nullopt;
    Report report{gather(run), {}};
    report.verdict = judge(report.evidence);
    if (!report.evidence.hang) return std::nullopt;
    std::string path = leave_all(report, run, audience);
    // This prints even if a summary follows at exit, because a reader of this report may not wait for it.
    say_where(path);
    return path;
}

}  // namespace aoti_dbg::cli
