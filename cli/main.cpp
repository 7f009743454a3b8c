// aoti-dbg: reads the command line and calls the command. Flags of `run` come from the table of
// options.
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/status.hpp"
#include "cli/cli_doctor.hpp"
#include "cli/cli_explain.hpp"
#include "cli/cli_report.hpp"
#include "cli/cli_run.hpp"
#include "cli/doctor_child.hpp"
#include "cli/report_files.hpp"
#include "cli/show_command.hpp"
#include "cli/typed_words.hpp"
#include "config/options_table.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg run -- python infer.py                      print each kernel that the model launches\n"
    "  aoti-dbg run --log names.log -- ./server --port 80   into a file, which survives a crash\n"
    "  aoti-dbg show aoti_dbg                               the last calls of the newest run\n"
    "  aoti-dbg doctor                                      is this machine ready?\n";
constexpr const char* kRunExamples =
    "Examples:\n"
    "  aoti-dbg run -- python infer.py\n"
    "  aoti-dbg run --kernels 'triton_*,!*_poi_*' --runs 10:20 --log names.log -- ./server\n"
    "  aoti-dbg run --config rules.json -- python infer.py         options, and rules for single kernels\n"
    "  aoti-dbg run --triage -- python infer.py                    a report, should it crash\n"
    "  aoti-dbg run --triage --ci -- python -m pytest tests        in CI: fails where no model was seen\n"
    "\n"
    "Ends as the program ended: with its exit code, or by the same signal. Where that is 0: 123 if --require "
    "is\n"
    "not met, and what --error-exitcode says if there were findings. 125: trouble of aoti-dbg's own; 126: "
    "the\n"
    "program cannot be executed; 127: it was not found.\n";
constexpr const char* kReportExamples =
    "Examples:\n"
    "  aoti-dbg report                                        the newest output directory below aoti_dbg\n"
    "  aoti-dbg report /var/tmp/serving/20261121-093000-4242\n";
constexpr const char* kDoctorExamples =
    "Examples:\n"
    "  aoti-dbg doctor\n"
    "  aoti-dbg doctor --fault                                also: does a real fault get its verdict?\n"
    "\n"
    "Ends with 0 where nothing failed, warnings or not, else with 1.\n";

/// `text` in lines of at most `width` characters.
std::string wrapped(std::string_view text, std::size_t width) {
    std::string result;
    while (text.size() > width) {
        std::size_t cut = text.rfind(' ', width);
        if (cut == std::string_view::npos) cut = std::min(text.find(' '), text.size());
        result += std::string(text.substr(0, cut)) + "\n";
        text.remove_prefix(std::min(cut + 1, text.size()));
    }
    return result + std::string(text);
}

/// Usage lines that CLI11 gets wrong.
class Formatter : public CLI::Formatter {
  public:
    std::string make_usage(const CLI::App* app, std::string name) const override {
        if (app->get_name() == "run") return "Usage: " + name + " [OPTIONS] -- program [arguments...]\n";
        // Its other arguments are between the library and the command.
        if (app->get_name() == "report") return "Usage: " + name + " [OPTIONS] [directory]\n";
        return CLI::Formatter::make_usage(app, std::move(name));
    }
};

struct Flag {
    const OptionInfo* info;
    std::string value;
    CLI::Option* option;
};

std::string description(const OptionInfo& info) {
    std::string text = std::string(info.help) + " Takes: " + std::string(info.values) + ".";
    if (!info.standard.empty()) text += " Default: " + std::string(info.standard) + ".";
    return wrapped(text, 76) + "\n[" + std::string(info.variable) + "]";
}

constexpr const char* kRequireHelp =
    "Fail with exit code 123 where the program ended well and was not seen at work. Takes: library (a "
    "program loaded it), model (one arrived), launch (a call was seen) or none. Default: none; with --ci: "
    "model.";
constexpr const char* kErrorExitcodeHelp =
    "The exit code where the program ended well and there were findings. Takes: 0 to 255. Default: 0; with "
    "--ci: 1.";
constexpr const char* kAnnotateHelp =
    "Say what is found in the way of a CI system, on standard error. Takes: github or none. Default: none.";
constexpr const char* kJunitHelp =
    "Write what is found as JUnit XML. Takes: a file; one that is there is kept, and the new one gets a "
    "number.";

// Options of the table that need no value on the command line; `--ci=off` gives one.
constexpr std::string_view kSwitches[] = {"--triage", "--ci"};

bool is_switch(std::string_view flag) {
    return std::find(std::begin(kSwitches), std::end(kSwitches), flag) != std::end(kSwitches);
}

/// The names by which flags of `app` are typed.
std::vector<std::string> flag_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
        for (const std::string& name : option->get_snames())
            names.push_back("-" + name);
    }
    return names;
}

/// Where the program to be run begins in the command line of `run`; nothing behind that is ours to read.
/// Every flag but the one for help and kSwitches takes one value.
Result<std::size_t> program_begin(const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& flags) {
    std::size_t i = 0;
    while (i < arguments.size()) {
        const std::string& argument = arguments[i];
        if (argument == "--" || argument.empty() || argument[0] != '-') break;
        const std::string flag = argument.substr(0, argument.find('='));
        if (std::find(flags.begin(), flags.end(), flag) == flags.end()) {
            return Status::error(flag + " is no flag of run" + did_you_mean(flag, flags));
        }
        const bool alone = argument == "-h" || argument == "--help" || is_switch(flag) || flag != argument;
        const bool is_empty = argument == flag + "=";
        if (is_empty || (!alone && (i + 1 == arguments.size() || arguments[i + 1] == "--"))) {
            return Status::error(flag + " needs a value");
        }
        i += alone ? 1 : 2;
    }
    return i;
}

int refuse(const std::string& fault) {
    std::fprintf(stderr, "aoti-dbg run: %s\n", fault.c_str());
    return kOwnTrouble;
}

/// The flags of `run`, with the values that were typed.
struct RunFlags {
    std::list<Flag> options;  // those that set a variable
    std::string require;
    std::string error_exitcode;
    std::string annotate = "none";
    std::string junit;
};

void add_flags(CLI::App& app, RunFlags& flags) {
    for (const OptionInfo& info : option_table()) {
        if (info.flag.empty()) continue;
        Flag& flag = flags.options.emplace_back(Flag{&info, {}, nullptr});
        const std::string name(info.flag);
        flag.option = is_switch(name) ? app.add_flag(name, flag.value, description(info))
                                      : app.add_option(name, flag.value, description(info))->type_name("");
        flag.option->take_last();
    }
    const auto add = [&app](const char* name, std::string& value, const char* help) {
        app.add_option(name, value, wrapped(help, 76))->type_name("")->take_last();
    };
    add("--require", flags.require, kRequireHelp);
    add("--error-exitcode", flags.error_exitcode, kErrorExitcodeHelp);
    add("--annotate", flags.annotate, kAnnotateHelp);
    add("--junit", flags.junit, kJunitHelp);
}

/// Puts what is no option of the table into the request; what is wrong with it, or an empty string.
std::string read_own_flags(const RunFlags& flags, RunRequest& request) {
    const auto wrong = [](const char* flag, const std::string& value, const char* allowed,
                          const std::vector<std::string>& words) {
        return std::string(flag) + ": \"" + value + "\" is not a value that it takes; allowed: " + allowed +
               did_you_mean(value, words);
    };
    if (!flags.require.empty()) {
        request.requirement = requirement_named(flags.require);
        if (!request.requirement)
            return wrong("--require", flags.require, "library, model, launch or none",
                         {"library", "model", "launch", "none"});
    }
    if (!flags.error_exitcode.empty()) {
        int code = 0;
        const char* const end = flags.error_exitcode.data() + flags.error_exitcode.size();
        const std::from_chars_result read = std::from_chars(flags.error_exitcode.data(), end, code);
        if (read.ec != std::errc() || read.ptr != end || code < 0 || code > 255)
            return wrong("--error-exitcode", flags.error_exitcode, "0 to 255", {});
        request.error_exitcode = code;
    }
    if (flags.annotate != "github" && flags.annotate != "none")
        return wrong("--annotate", flags.annotate, "github or none", {"github", "none"});
    request.annotates_github = flags.annotate == "github";
    std::error_code unknown;
    const bool is_folder = !flags.junit.empty() &&
                           (flags.junit.back() == '/' || std::filesystem::is_directory(flags.junit, unknown));
    if (is_folder) return wrong("--junit", flags.junit, "a file, and this is a directory", {});
    if (const Status possible = flags.junit.empty() ? Status() : can_be_made(flags.junit); !possible.ok())
        return possible.message() + ". " + remedy_for(possible, "--junit", PlaceKind::file);
    request.junit = flags.junit;
    return {};
}

int run_command(const RunFlags& flags, std::vector<std::string> program) {
    if (!program.empty() && program.front() == "--") program.erase(program.begin());
    if (program.empty()) return refuse("no program given; try: aoti-dbg run -- python script.py");
    RunRequest request;
    request.program = std::move(program);
    for (const Flag& flag : flags.options) {
        if (flag.option->count() == 0) continue;
        // What CLI11 has for a switch that stands alone.
        const std::string value =
            is_switch(flag.info->flag) && flag.value == "true" ? std::string("on") : flag.value;
        const std::string fault = fault_of_value(flag.info->variable, value);
        if (!fault.empty()) return refuse(std::string(flag.info->flag) + ": " + fault);
        request.variables.emplace_back(flag.info->variable, value);
    }
    const std::string fault = read_own_flags(flags, request);
    if (!fault.empty()) return refuse(fault);
    return run(request);
}

/// The flags of `doctor`, with the values that were typed.
struct DoctorFlags {
    bool fault = false;
    std::string format = "text";
    std::string child;  // one of its trials, in the command that it starts
    unsigned seconds = 30;
};

void add_flags(CLI::App& app, DoctorFlags& flags) {
    app.add_flag("--fault", flags.fault,
                 "Also let a kernel really fault, in a child, and check the verdict on it");
    app.add_option("--format", flags.format, "Takes: text or json. Default: text.")->type_name("");
    app.add_option("--seconds", flags.seconds, "How long each trial may take. Takes: 1 to 3600. Default: 30.")
        ->type_name("")
        ->check(CLI::Range(1U, 3600U).description(""));
    app.add_option("--child", flags.child)->group("");
}

// What the library starts the command with at a bad end, where no `run` waits for it.
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
    if (format != "text" && format != "json") {
        std::fprintf(stderr,
                     "aoti-dbg doctor: --format: \"%s\" is not a value that it takes; allowed: text or "
                     "json%s\n",
                     flags.format.c_str(), did_you_mean(flags.format, {"text", "json"}).c_str());
        return kWrongUsage;
    }
    return doctor({flags.fault, format == "json", std::chrono::seconds(flags.seconds)});
}

int dispatch(std::vector<std::string> arguments) {
    CLI::App app("Sees every kernel that an unchanged AOTInductor model launches.", "aoti-dbg");
    app.set_version_flag("--version", std::string("aoti-dbg ") + AOTI_DBG_VERSION, "Print the version");
    app.set_help_flag("-h,--help", "Print this help");
    app.formatter(std::make_shared<Formatter>());
    app.require_subcommand(1);
    app.footer(kExamples);

    CLI::App* const run_app = app.add_subcommand("run", "Run a program under the library");
    run_app->footer(kRunExamples);
    RunFlags flags;
    add_flags(*run_app, flags);

    CLI::App* const show_app = app.add_subcommand(
        "show",
        "Print the last calls that a flight ring holds, recorded tensors, or what a GPU core dump says");
    ShowFlags show_flags;
    add_flags(*show_app, show_flags);

    CLI::App* const report_app = app.add_subcommand(
        "report", "Say how a program ended that was armed by AOTI_DBG_TRIAGE=1, without `run`");
    std::string reported = "aoti_dbg/latest";
    report_app->footer(kReportExamples);
    report_app->add_option("directory", reported, "Its output directory. Default: aoti_dbg/latest.")
        ->type_name("");
    ReportFlags report_flags;
    add_flags(*report_app, report_flags);

    CLI::App* const doctor_app =
        app.add_subcommand("doctor", "Say whether this machine is ready, and what to do where it is not");
    doctor_app->footer(kDoctorExamples);
    DoctorFlags doctor_flags;
    add_flags(*doctor_app, doctor_flags);

    CLI::App* const explain_app =
        app.add_subcommand("explain", "Print what the code of a finding or report means, and what to do");
    std::string code;
    explain_app->add_option("code", code, "AD1203, for example. Without it: the list of all codes")
        ->type_name("");

    if (arguments.empty()) {
        std::fputs(app.help().c_str(), stderr);
        return kWrongUsage;
    }
    const std::string command = arguments.front();
    const std::vector<std::string> commands = {"run", "show", "report", "explain", "doctor"};
    if (command.rfind('-', 0) != 0 &&
        std::find(commands.begin(), commands.end(), command) == commands.end()) {
        std::fprintf(stderr, "aoti-dbg: %s is no command%s; see aoti-dbg --help\n", command.c_str(),
                     did_you_mean(command, commands).c_str());
        return kWrongUsage;
    }
    const bool is_run = command == "run";
    std::vector<std::string> program;
    if (is_run) {
        const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
        const Result<std::size_t> begin = program_begin(rest, flag_names(*run_app));
        if (!begin.ok()) return refuse(begin.status().message());
        program.assign(rest.begin() + static_cast<std::ptrdiff_t>(begin.value()), rest.end());
        arguments.resize(1 + begin.value());
    }
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        if (app.exit(error) == 0) return 0;
        return is_run ? kOwnTrouble : kWrongUsage;
    }
    if (is_run) return run_command(flags, std::move(program));
    if (command == "report" && report_flags.pid == 0 && !report_flags.command.empty()) {
        message(Severity::error, "`aoti-dbg report` takes one directory, got also \"%s\".",
                report_flags.command.front().c_str());
        return kWrongUsage;
    }
    if (command == "report")
        return report_flags.pid == 0 ? report(reported) : report_end(ending_process(report_flags, reported));
    if (command == "doctor") return doctor_command(doctor_flags);
    if (command == "explain") return explain(code);
    return show_command(show_flags);
}

}  // namespace
}  // namespace aoti_dbg::cli

int main(int argc, char** argv) {
    try {
        return aoti_dbg::cli::dispatch(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "aoti-dbg: %s\n", error.what());
        return aoti_dbg::cli::kOwnTrouble;
    }
}
