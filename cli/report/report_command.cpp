// See report_command.hpp.
#include "cli/report/report_command.hpp"

#include <sys/wait.h>

#include <CLI/CLI.hpp>

#include "cli/report/report.hpp"
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
    own.add_option("directory", folder_, "The output directory. Default: aoti_dbg/latest.")->type_name("");
    own.add_option("--process", pid_)->group("");
    own.add_option("--since", since_unix_ns_)->group("");
    own.add_option("--status", status_)->group("");
    own.add_option("--signal", signal_)->group("");
    own.add_flag("--start", is_start_)->group("");
    own.add_option("command", program_)->group("");
}

int ReportCommand::run() {
    if (pid_ == 0 && program_.empty()) return report(folder_);
    if (pid_ == 0)
        return refuse("expected one directory, got also " + aoti_dbg::quoted(program_.front()) + ".");
    EndingProcess process{folder_, pid_, since_unix_ns_, {}, program_, is_start_};
    if (process.command.empty()) process.command.push_back("unknown");
    const bool has_signal = !signal_.empty();
    if (const std::optional<int> number = whole_number<int>(has_signal ? signal_ : status_))
        process.status = has_signal ? W_EXITCODE(0, *number) : W_EXITCODE(*number, 0);
    return report_end(process);
}

}  // namespace aoti_dbg::cli
