#include "cli/report/report.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/message.hpp"
#include "cli/print.hpp"
#include "cli/report/report_files.hpp"
#include "cli/report/report_output.hpp"
#include "cli/torch_trace_option.hpp"
#include "config/options.hpp"
#include "model/torch_trace.hpp"
#include "triage/gather/gather.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/render/report_text.hpp"

namespace aoti_dbg::cli {

int report_end(const EndingProcess& process) {
    // The library starts the command with all signals blocked (shim/faults/reporter.cpp).
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    EndedRun run;
    run.command = process.command;
    run.folder = process.folder;
    run.start_unix_ns = process.since_unix_ns;
    run.pid = process.pid;
    run.status = process.status.value_or(0);
    run.has_status = process.status.has_value();
    run.is_own_request = true;
    std::vector<std::string> complaints;  // The library has already printed these.
    Audience audience = audience_of(parse_options(process_sources(), complaints));
    // Directories beside that of a child process belong to the same run.
    if (!process.is_start) audience.max_reports = Audience{}.max_reports;
    report_run(run, audience, {});
    return 0;
}

int report(const std::string& folder, const std::string& torch_trace) {
    const std::optional<Result<TorchTrace>> trace =
        torch_trace.empty() ? std::nullopt : std::optional(TorchTrace::read(torch_trace));
    if (trace && !trace->ok()) return refuse_torch_trace(trace->status());
    const std::vector<RecordedProcess> processes = recorded_processes(folder, 0);
    if (processes.empty()) {
        std::error_code failed;
        const bool is_folder = std::filesystem::is_directory(folder, failed);
        error_message(ErrorCode::nothing_recorded,
                      "no process is recorded in %s%s. Give the output directory (AOTI_DBG_OUT), which holds "
                      "flight.ring.",
                      folder.c_str(), is_folder ? "" : ": it is not a directory, or it does not exist");
        return 1;
    }
    // The first process is the one that was started. The others have directories below its own.
    EndedRun run;
    run.command = {processes.front().program};
    run.folder = folder;
    run.pid = static_cast<pid_t>(processes.front().pid);
    run.has_status = false;
    run.torch_trace = trace ? &trace->value() : nullptr;
    Report report{gather(run), {}};
    report.verdict = judge(report.evidence);
    const std::string text = report_text(report);
    // The user asked for this report, so a process that was killed from outside is enough reason for one.
    const bool is_any_gone =
        std::any_of(processes.begin(), processes.end(), std::mem_fn(&RecordedProcess::has_vanished));
    if (!report.verdict.is_worth_reporting && !is_any_gone) {
        error_message(
            ErrorCode::nothing_to_report,
            "nothing to report: %zu process%s in %s, with no failed or open call, no kernel fault and no "
            "finding.",
            processes.size(), processes.size() == 1 ? "" : "es", folder.c_str());
        return 1;
    }
    const Result<std::string> written = write_report(report, text, folder);
    if (!written.ok())
        message(Severity::warn, "%s. The report is on standard output only.",
                written.status().message().c_str());
    const int printed = print(text);
    if (written.ok()) say_where(written.value());
    return printed;
}

}  // namespace aoti_dbg::cli
