// aoti-dbg: reads the command line and calls the command.
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/message.hpp"
#include "base/status.hpp"
#include "cli/doctor/doctor.hpp"
#include "cli/doctor/doctor_child.hpp"
#include "cli/explain/explain.hpp"
#include "cli/help_formatter.hpp"
#include "cli/report/report.hpp"
#include "cli/run/run.hpp"
#include "cli/run/run_command.hpp"
#include "cli/show/show_command.hpp"
#include "cli/typed_words.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg run -- python infer.py            print each kernel\n"
    "  aoti-dbg run --triage -- python infer.py   explain a crash\n"
    "  aoti-dbg show aoti_dbg                     print the last calls\n"
    "  aoti-dbg doctor                            check this machine\n";
constexpr const char* kReportExamples =
    "Examples:\n"
    "  aoti-dbg report                            the newest run below aoti_dbg\n"
    "  aoti-dbg report /var/tmp/serving/20261121-093000-4242\n";
constexpr const char* kExplainExamples =
    "Examples:\n"
    "  aoti-dbg explain                           list all codes\n"
    "  aoti-dbg explain AD1203\n";
constexpr const char* kDoctorExamples =
    "Examples:\n"
    "  aoti-dbg doctor\n"
    "  aoti-dbg doctor --fault                    also check a GPU fault\n"
    "\n"
    "The exit code is 1 if a check failed, otherwise 0.\n";

constexpr unsigned kLongestTrial = 3600;  // seconds

/// The flags of `doctor`, with their values as typed.
struct DoctorFlags {
    bool fault = false;
    std::string format = "text";
    std::string child;  // the trial to run, for the command's own child
    std::string seconds = "30";
};

void add_flags(CLI::App& app, DoctorFlags& flags) {
    app.add_flag("--fault", flags.fault,
                 "Also make a kernel fault in a child process, and check its report.");
    app.add_option("--format", flags.format, "Print text or json. Default: text.")->type_name("FORMAT");
    app.add_option("--seconds", flags.seconds, "Time limit of each trial, 1 to 3600. Default: 30.")
        ->type_name("N");
    app.add_option("--child", flags.child)->group("");
}

// The library starts the command with these flags after an abnormal exit if no `run` waits for the process.
struct ReportFlags {
    pid_t pid = 0;
    std::uint64_t since_unix_ns = 0;
    std::string status, signal;
    std::vector<std::string> command;
    bool is_start = false;
};

void add_flags(CLI::App& app, ReportFlags& flags) {
    app.add_option("--process", flags.pid)->group("");
    app.add_option("--since", flags.since_unix_ns)->group("");
    app.add_option("--status", flags.status)->group("");
    app.add_option("--signal", flags.signal)->group("");
    app.add_flag("--start", flags.is_start)->group("");
    app.add_option("command", flags.command)->group("");
}

EndingProcess ending_process(const ReportFlags& flags, const std::string& folder) {
    EndingProcess process{folder, flags.pid, flags.since_unix_ns, {}, flags.command, flags.is_start};
    if (process.command.empty()) process.command.push_back("unknown");
    const bool has_signal = !flags.signal.empty();
    int number = 0;
    const std::string& text = has_signal ? flags.signal : flags.status;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size())
        process.status = has_signal ? W_EXITCODE(0, number) : W_EXITCODE(number, 0);
    return process;
}

int doctor_command(const DoctorFlags& flags) {
    if (!flags.child.empty()) return doctor_child(flags.child);
    const std::string format = lower_case(flags.format);
    if (format != "text" && format != "json")
        return refuse("doctor", "--format: " + wrong_value(flags.format, "text or json", {"text", "json"}));
    unsigned seconds = 0;
    const char* const end = flags.seconds.data() + flags.seconds.size();
    const std::from_chars_result read = std::from_chars(flags.seconds.data(), end, seconds);
    if (read.ec != std::errc() || read.ptr != end || seconds == 0 || seconds > kLongestTrial)
        return refuse("doctor", "--seconds: " + wrong_value(flags.seconds, "1 to 3600", {}));
    return doctor({flags.fault, format == "json", std::chrono::seconds(seconds)});
}

std::string see_help(const CLI::App& command) {
    return " See `aoti-dbg " + command.get_name() + " --help`.";
}

/// Returns what is wrong with a command's arguments, in our own words where CLI11's do not fit.
std::string parse_fault(const CLI::App& command, const CLI::ParseError& error) {
    const std::string why = error.what();
    if (error.get_name() == "ArgumentMismatch")
        return "option " + why.substr(0, why.find_first_of(": ")) + " needs a value." + see_help(command);
    const std::vector<std::string> unknown = command.remaining();
    if (unknown.empty()) return why + ".";
    if (unknown.front().rfind('-', 0) == 0) return unknown_option(unknown.front(), command);
    return "unexpected argument " + aoti_dbg::quoted(unknown.front()) + "." + see_help(command);
}

/// All commands, with their flags as typed.
struct CommandLine {
    CommandLine();

    CLI::App app{"Show what AOTInductor models do, on the unchanged binary.", "aoti-dbg"};
    RunFlags run;
    ShowFlags show;
    ReportFlags report;
    std::string reported = "aoti_dbg/latest";
    std::string code;
    DoctorFlags doctor;
};

CommandLine::CommandLine() {
    app.set_version_flag("--version", std::string("aoti-dbg ") + AOTI_DBG_VERSION, "Print the version.");
    app.set_help_flag("-h,--help", "Print this help.");
    app.formatter(std::make_shared<HelpFormatter>());
    app.require_subcommand(1);
    app.footer(kExamples);
    const auto add = [this](const char* name, const char* description, const char* examples) {
        return app.add_subcommand(name, description)->footer(examples)->group("Commands");
    };
    add_flags(*add("run", "Run a program and show what its models do.", ""), run);
    add_flags(*add("show", "Print recorded calls, tensors or a GPU core dump.", ""), show);
    CLI::App* const report_app =
        add("report", "Report how a program ended that ran without `run`.", kReportExamples);
    report_app->add_option("directory", reported, "The output directory. Default: aoti_dbg/latest.")
        ->type_name("");
    add_flags(*report_app, report);
    add("explain", "Explain the code of a finding, report or error.", kExplainExamples)
        ->add_option("code", code, "A code such as AD1203. Without it: list all codes.")
        ->type_name("");
    add_flags(*add("doctor", "Check whether this machine is ready.", kDoctorExamples), doctor);
}

int call(const CommandLine& line, const std::string& command, std::vector<std::string> program) {
    if (command == "run") return run_command(line.run, std::move(program));
    if (command == "doctor") return doctor_command(line.doctor);
    if (command == "explain") return explain(line.code);
    if (command == "show") return show_command(line.show);
    if (line.report.pid != 0) return report_end(ending_process(line.report, line.reported));
    if (line.report.command.empty()) return report(line.reported);
    return refuse("report",
                  "expected one directory, got also " + aoti_dbg::quoted(line.report.command.front()) + ".");
}

int dispatch(std::vector<std::string> arguments) {
    CommandLine line;
    if (arguments.empty()) {
        std::fputs(line.app.help().c_str(), stderr);
        return kWrongUsage;
    }
    const std::string command = arguments.front();
    const std::vector<std::string> commands = {"run", "show", "report", "explain", "doctor"};
    if (command.rfind('-', 0) != 0 && std::find(commands.begin(), commands.end(), command) == commands.end())
        return refuse({}, "unknown command " + aoti_dbg::quoted(command) + "." +
                              did_you_mean(command, commands) + " `aoti-dbg --help` lists the commands.");
    const bool is_run = command == "run";
    std::vector<std::string> program;
    if (is_run) {
        const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
        const Result<std::size_t> begin = program_begin(*line.app.get_subcommand("run"), rest);
        if (!begin.ok()) return refuse_run(begin.status().message());
        program.assign(rest.begin() + static_cast<std::ptrdiff_t>(begin.value()), rest.end());
        arguments.resize(1 + begin.value());
    }
    try {
        line.app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return line.app.exit(error);
        const std::vector<CLI::App*> parsed = line.app.get_subcommands();
        const std::string fault = parse_fault(parsed.empty() ? line.app : *parsed.front(), error);
        if (is_run) return refuse_run(fault);
        return refuse(parsed.empty() ? std::string() : command, fault);
    }
    return call(line, command, std::move(program));
}

}  // namespace
}  // namespace aoti_dbg::cli

int main(int argc, char** argv) {
    try {
        return aoti_dbg::cli::dispatch(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        aoti_dbg::error_message(aoti_dbg::ErrorCode::command_failed,
                                "the command failed: %s. Report this bug in aoti-dbg, with the command line.",
                                error.what());
        return aoti_dbg::cli::kOwnTrouble;
    }
}
