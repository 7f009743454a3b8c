// See report_command.hpp.
#include "cli/report/report_command.hpp"

#include <sys/wait.h>

#include "cli/report/report.hpp"
#include "cli/torch_trace_option.hpp"
#include "cli/whole_number.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg report                            the newest run below aoti_dbg\n"
    "  aoti-dbg report /var/tmp/serving/20261121-093000-4242\n";

}  // namespace

void ReportCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Report how a program ended that ran without `run`.", kExamples);
    add_value(own, {"directory", "The output directory. Default: aoti_dbg/latest."}, folder_);
    add_value(own, torch_trace_option(), torch_trace_);
    add_value(own, hidden("--process"), process_);
    add_value(own, hidden("--since"), since_unix_ns_);
    add_value(own, hidden("--status"), status_);
    add_value(own, hidden("--signal"), signal_);
    add_switch(own, hidden("--start"), is_start_);
    add_value(own, hidden("command"), program_);
}

int ReportCommand::run() {
    const pid_t pid = whole_number<pid_t>(process_).value_or(0);
    if (pid == 0 && program_.empty()) return report(folder_, torch_trace_);
    if (pid == 0)
        return refuse("expected one directory, got also " + aoti_dbg::quoted(program_.front()) + ".");
    EndingProcess process{folder_, pid,      whole_number<std::uint64_t>(since_unix_ns_).value_or(0),
                          {},      program_, is_start_};
    if (process.command.empty()) process.command.push_back("unknown");
    const bool has_signal = !signal_.empty();
    if (const std::optional<int> number = whole_number<int>(has_signal ? signal_ : status_))
        process.status = has_signal ? W_EXITCODE(0, *number) : W_EXITCODE(*number, 0);
    return report_end(process);
}

}  // namespace aoti_dbg::cli
