// See run_command.hpp.
#include "cli/run/run_command.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file_failure.hpp"
#include "cli/report/report_files.hpp"
#include "cli/run/run.hpp"
#include "cli/typed_words.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

/// Needs no value on the command line, although `--ci=off` gives one.
bool is_switch(const OptionInfo& info) {
    return info.value_name.empty();
}

bool is_switch(std::string_view flag) {
    const std::vector<OptionInfo>& table = option_table();
    return std::any_of(table.begin(), table.end(),
                       [flag](const OptionInfo& info) { return info.flag == flag && is_switch(info); });
}

bool is_for_help(std::string_view argument) {
    return argument == "-h" || argument == "--help" || argument == "--help-all";
}

std::string wrong(const char* flag, const std::string& value, const char* expected,
                  const std::vector<std::string>& words) {
    return std::string(flag) + ": " + wrong_value(value, expected, words);
}

std::string read_junit(const std::string& file, RunRequest& request) {
    if (file.empty()) return {};
    std::error_code unknown;
    if (file.back() == '/' || std::filesystem::is_directory(file, unknown))
        return "--junit: expected a file, got the directory " + aoti_dbg::quoted(file) + ".";
    if (const Status possible = can_be_made(file); !possible.ok())
        return possible.message() + ". " + remedy_for(possible, "--junit", PlaceKind::file);
    request.junit = file;
    return {};
}

/// Stores the flags that set no variable in the request. Returns what is wrong with them, or an empty string.
std::string read_own_flags(const RunFlags& flags, RunRequest& request) {
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
    return read_junit(flags.junit, request);
}

}  // namespace

void add_flags(CLI::App& app, RunFlags& flags) {
    app.set_help_all_flag("--help-all");
    for (const OptionInfo& info : option_table()) {
        if (info.flag.empty()) continue;
        OptionFlag& flag = flags.options.emplace_back(OptionFlag{&info, {}, nullptr});
        const std::string name(info.flag);
        flag.option = is_switch(info) ? app.add_flag(name, flag.value) : app.add_option(name, flag.value);
        flag.option->take_last();
    }
    app.add_option("--require", flags.require)->take_last();
    app.add_option("--error-exitcode", flags.error_exitcode)->take_last();
    app.add_option("--annotate", flags.annotate)->take_last();
    app.add_option("--junit", flags.junit)->take_last();
}

Result<std::size_t> program_begin(const CLI::App& app, const std::vector<std::string>& arguments) {
    const std::vector<std::string> flags = flag_names(app);
    std::size_t i = 0;
    while (i < arguments.size()) {
        const std::string& argument = arguments[i];
        if (argument == "--" || argument.empty() || argument[0] != '-') break;
        const std::string flag = argument.substr(0, argument.find('='));
        if (std::find(flags.begin(), flags.end(), flag) == flags.end())
            return Status::error(unknown_option(flag, app));
        const bool alone = is_for_help(argument) || is_switch(flag) || flag != argument;
        const bool is_empty = argument == flag + "=";
        if (is_empty || (!alone && (i + 1 == arguments.size() || arguments[i + 1] == "--")))
            return Status::error("option " + flag + " needs a value. See `aoti-dbg run --help-all`.");
        i += alone ? 1 : 2;
    }
    return i;
}

int refuse_run(const std::string& fault) {
    refuse("run", fault);
    return kOwnTrouble;
}

int run_command(const RunFlags& flags, std::vector<std::string> program) {
    if (!program.empty() && program.front() == "--") program.erase(program.begin());
    if (program.empty()) return refuse_run("no program given. Try: aoti-dbg run -- python script.py");
    RunRequest request;
    request.program = std::move(program);
    for (const OptionFlag& flag : flags.options) {
        if (flag.option->count() == 0) continue;
        // CLI11 sets a switch without a value to "true".
        const std::string value =
            is_switch(*flag.info) && flag.value == "true" ? std::string("on") : flag.value;
        const std::string fault = fault_of_value(flag.info->variable, value);
        if (!fault.empty()) return refuse_run(std::string(flag.info->flag) + ": " + fault);
        request.variables.emplace_back(flag.info->variable, value);
    }
    const std::string fault = read_own_flags(flags, request);
    if (!fault.empty()) return refuse_run(fault);
    return run(request);
}

}  // namespace aoti_dbg::cli
