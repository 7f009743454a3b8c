// See page_verdict.hpp.
#include "cli/page/page_verdict.hpp"

#include <algorithm>

#include "base/words.hpp"
#include "serializer/codes.hpp"
#include "serializer/json_line.hpp"
#include "triage/gather/gather.hpp"
#include "triage/judge/verdict.hpp"
#include "triage/render/report_json.hpp"
#include "triage/render/report_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostReport = std::size_t{4} << 20U;
constexpr std::size_t kMostText = std::size_t{128} << 10U;

std::vector<std::string> texts_of(JsonLine::Value list) {
    constexpr std::size_t kMost = 50;
    std::vector<std::string> texts;
    for (JsonLine::Value text = list.first(); text && texts.size() < kMost; text = text.next())
        texts.emplace_back(text.text());
    return texts;
}

/// Returns false if the folder has no report that can be read.
bool read_report(const RecordedFolder& folder, PageVerdict& verdict) {
    std::optional<std::string> text = small_file(folder.path() + "/report.json", kMostReport);
    if (!text) return false;
    // The file has several lines. Texts in it have no newline.
    std::ranges::replace(*text, '\n', ' ');
    JsonLine json;
    if (!json.parse(*text) || json.root().member("format").text() != kReportFormatName) return false;
    const JsonLine::Value root = json.root();
    verdict.sentence = root.member("verdict").text();
    verdict.code = root.member("code").text();
    verdict.kind = root.member("class").text();
    verdict.repeat = texts_of(root.member("repeat"));
    verdict.advice = texts_of(root.member("try"));
    verdict.report = small_file(folder.path() + "/report.txt", kMostText).value_or("");
    return !verdict.sentence.empty();
}

void judge_now(Page& page) {
    EndedRun run;
    run.command = {page.processes.front().command};
    run.folder = page.folder;
    run.pid = static_cast<pid_t>(page.processes.front().pid);
    run.has_status = false;
    Report report{gather(run), {}};
    report.verdict = judge(report.evidence);
    PageVerdict& verdict = page.verdict;
    if (!report.verdict.is_worth_reporting) return;
    verdict.sentence = report.verdict.headline;
    if (report.verdict.code != 0) verdict.code = code_text(report.verdict.code);
    verdict.kind = word_of(report.verdict.kind);
    // Without the program's own words, "..." stands for them.
    for (const std::string& command : report.verdict.repeat)
        if (!command.ends_with(" ...")) verdict.repeat.push_back(command);
    verdict.advice = report.verdict.advice;
    verdict.report = report_text(report);
    if (verdict.report.size() > kMostText) verdict.report.resize(kMostText);
}

/// A sentence for a run without a report.
std::string plain_sentence(const Page& page) {
    std::uint64_t runs = 0;
    std::uint64_t calls = 0;
    for (const PageProcess& process : page.processes) {
        runs += process.runs;
        calls += process.calls;
    }
    if (page.rows.rows.empty()) return "no model call is recorded";
    const auto with_nan = static_cast<std::uint64_t>(
        std::ranges::count_if(page.rows.rows, [](const PageRow& row) { return (row.flags & kHasNan) != 0; }));
    return "no finding in " + counted(runs, "run") + " with " + counted(calls, "call") +
           (with_nan == 0 ? "" : "; NaN in " + counted(with_nan, "row") + " of the table");
}

}  // namespace

void read_verdict(const RecordedFolder& folder, Page& page) {
    PageVerdict& verdict = page.verdict;
    if (!read_report(folder, verdict)) judge_now(page);
    const bool is_about_finding = verdict.code.starts_with("AD1");
    if (!verdict.sentence.empty())
        verdict.state = is_about_finding ? "findings" : "failure";
    else if (page.finding_count != 0)
        verdict.state = "findings";
    else
        verdict.state = page.rows.rows.empty() ? "nothing" : "clean";
    if (verdict.sentence.empty() && !page.findings.empty())
        verdict.sentence = finding_sentence(page.findings.front().finding);
    if (verdict.sentence.empty()) verdict.sentence = plain_sentence(page);
    if (!page.is_confidential || verdict.state == "clean" || verdict.state == "nothing") return;
    // A sentence about a failure can have paths and values, and a code cannot.
    const CodeInfo* const code = find_code(verdict.code);
    verdict.sentence =
        code == nullptr ? std::to_string(page.finding_count) + " findings" : std::string(code->title);
}

}  // namespace aoti_dbg::cli
