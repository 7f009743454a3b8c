// See report_command.hpp.
#include "cli/report/report_command.hpp"

#include <sys/wait.h>

#include "cli/page/html_report.hpp"
#include "cli/report/report.hpp"
#include "cli/torch_trace_option.hpp"
#include "cli/whole_number.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kReportExamples =
    "Examples:\n"
    "  aoti-dbg report                            the newest run below aoti_dbg\n"
    "  aoti-dbg report /var/tmp/serving/20261121-093000-4242\n"
    "  aoti-dbg report --html                     write a page for a browser\n"
    "  aoti-dbg report before/ after/ --html      the same, with differences\n";

}  // namespace

void ReportCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Report how a program ended, or write an HTML page.", kReportExamples);
    add_value(own,
              {"directory", "The output directory. With --html, two to compare. Default: aoti_dbg/latest."},
              folder_);
    add_value(own, torch_trace_option(), torch_trace_);
    add_switch(own, {"--html", "Write a page with the verdict, calls and tensors instead."}, is_html_);
    add_switch(
        own,
        {"--confidential",
         "Leave out values, statistics, paths, command lines, hosts and source text. Only with --html."},
        is_confidential_);
    add_value(own, {"--output", "The file to write. Default: report.html in the directory.", "FILE"},
              output_);
    add_value(own, hidden("--process"), process_);
    add_value(own, hidden("--since"), since_unix_ns_);
    add_value(own, hidden("--status"), status_);
    add_value(own, hidden("--signal"), signal_);
    add_switch(own, hidden("--start"), is_start_);
    add_value(own, hidden("command"), program_);
}

int ReportCommand::run_html() const {
    if (program_.size() > 1)
        return refuse("expected at most two directories, also got " + aoti_dbg::quoted(program_[1]) + ".");
    return html_report(
        {folder_, program_.empty() ? "" : program_.front(), output_, is_confidential_, torch_trace_});
}

int ReportCommand::run() {
    if (is_html_) return run_html();
    if (is_confidential_ || !output_.empty())
        return refuse(std::string(is_confidential_ ? "--confidential" : "--output") + " needs --html.");
    const pid_t pid = whole_number<pid_t>(process_).value_or(0);
    if (pid == 0 && program_.empty()) return report(folder_, torch_trace_);
    if (pid == 0)
        return refuse("expected one directory, also got " + aoti_dbg::quoted(program_.front()) + ".");
    EndingProcess process{folder_, pid,      whole_number<std::uint64_t>(since_unix_ns_).value_or(0),
                          {},      program_, is_start_};
    if (process.command.empty()) process.command.push_back("unknown");
    const bool has_signal = !signal_.empty();
    if (const std::optional<int> number = whole_number<int>(has_signal ? signal_ : status_))
        process.status = has_signal ? W_EXITCODE(0, *number) : W_EXITCODE(*number, 0);
    return report_end(process);
}

}  // namespace aoti_dbg::cli
