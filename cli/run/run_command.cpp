// See run_command.hpp.
#include "cli/run/run_command.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "base/file_failure.hpp"
#include "cli/report/report_files.hpp"
#include "cli/run/run_help.hpp"
#include "cli/run/run_program.hpp"
#include "cli/whole_number.hpp"
#include "config/options.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

/// Needs no value on the command line, although `--ci=off` gives one.
bool is_switch(const OptionInfo& info) {
    return info.value_name.empty();
}

bool is_switch(std::string_view flag) {
    const std::vector<OptionInfo>& table = option_table();
    return flag == kCaptureVerify || std::any_of(table.begin(), table.end(), [flag](const OptionInfo& info) {
               return info.flag == flag && is_switch(info);
           });
}

bool is_for_help(std::string_view argument) {
    return argument == "-h" || argument == "--help" || argument == "--help-all";
}

/// Returns the text of an OptionInfo or OwnFlag.
template <typename Info>
OptionText text_of(const Info& info, std::string_view name) {
    return {std::string(name), std::string(info.brief), std::string(info.value_name),
            std::string(title_of(info.group)), true};
}

/// Returns the index of the program in the arguments of `run`.
Result<std::size_t> program_begin(const CLI::App& app, const std::vector<std::string>& arguments) {
    const std::vector<std::string> flags = flag_names(app);
    std::size_t i = 1;
    while (i < arguments.size()) {
        const std::string& argument = arguments[i];
        if (argument == "--" || argument.empty() || argument[0] != '-') break;
        const std::string flag = argument.substr(0, argument.find('='));
        if (std::find(flags.begin(), flags.end(), flag) == flags.end())
            return Status::error(unknown_option(flag, app));
        const bool alone = is_for_help(argument) || is_switch(flag) || flag != argument;
        const bool is_empty = argument == flag + "=";
        if (is_empty || (!alone && (i + 1 == arguments.size() || arguments[i + 1] == "--")))
            return Status::error(missing_value(flag, app));
        i += alone ? 1 : 2;
    }
    return i;
}

/// Returns how the options of the flags and of the environment contradict each other, or an empty text.
std::string contradiction(const RunRequest& request) {
    Sources sources = process_sources();
    sources.environment = [&request, inherited = sources.environment](const char* name) {
        for (const auto& [variable, value] : request.variables)
            if (variable == name) return value.c_str();
        return inherited(name);
    };
    const std::string why = contradiction_in(sources);
    return why.empty() ? why : "--capture-on " + why;
}

}  // namespace

RunCommand::RunCommand() : Command("run", kOwnTrouble) {}

void RunCommand::add_to(CLI::App& app) {
    app_ = &declare(app, "Run a program and show what its models do.", kRunExamples);
    set_help(*app_, [](bool all) { return run_help(all ? HelpScreen::all : HelpScreen::common); });
    // run_help() prints the descriptions. They are here for packaging/.
    for (const OwnFlag& own : own_flags())
        if (own.value_name.empty() && own.flag != kCaptureVerify)
            describe_option(*app_, text_of(own, own.flag.substr(own.flag.rfind("--"))));
    for (const OptionInfo& info : option_table()) {
        if (info.flag.empty()) continue;
        OptionFlag& flag = options_.emplace_back(OptionFlag{&info, {}, nullptr});
        const OptionText text = text_of(info, info.flag);
        flag.option =
            is_switch(info) ? &add_switch(*app_, text, flag.value) : &add_value(*app_, text, flag.value);
    }
    for (const OwnFlag& own : own_flags())
        if (own.flag == kCaptureVerify) add_switch(*app_, text_of(own, own.flag), verifies_captures_);
    add_own("--require", require_, {"library", "model", "launch", "none"});
    add_own("--error-exitcode", error_exitcode_, {});
    add_own("--annotate", annotate_, {"github", "none"});
    add_own("--junit", junit_, {});
}

void RunCommand::add_own(std::string_view name, std::string& value, std::vector<std::string> words) {
    const std::vector<OwnFlag>& all = own_flags();
    const auto own =
        std::find_if(all.begin(), all.end(), [name](const OwnFlag& flag) { return flag.flag == name; });
    accepts(add_value(*app_, text_of(*own, name), value), std::move(words));
}

Status RunCommand::take_program(std::vector<std::string>& arguments) {
    const Result<std::size_t> begin = program_begin(*app_, arguments);
    if (!begin.ok()) return begin.status();
    program_.assign(arguments.begin() + static_cast<std::ptrdiff_t>(begin.value()), arguments.end());
    arguments.resize(begin.value());
    if (!program_.empty() && program_.front() == "--") program_.erase(program_.begin());
    return {};
}

std::string RunCommand::read_variables(RunRequest& request) const {
    for (const OptionFlag& flag : options_) {
        if (!was_given(*flag.option)) continue;
        const std::string value =
            is_switch(*flag.info) && flag.value == "true" ? std::string("on") : flag.value;
        const std::string fault = fault_of_value(flag.info->variable, value);
        if (!fault.empty()) return std::string(flag.info->flag) + ": " + fault;
        request.variables.emplace_back(flag.info->variable, value);
    }
    return {};
}

std::string RunCommand::read_own_flags(RunRequest& request) const {
    if (!require_.empty()) {
        request.requirement = requirement_named(require_);
        if (!request.requirement)
            return wrong_value("--require", require_, "library, model, launch or none",
                               {"library", "model", "launch", "none"});
    }
    if (!error_exitcode_.empty()) {
        request.error_exitcode = whole_number<std::uint8_t>(error_exitcode_);
        if (!request.error_exitcode) return wrong_value("--error-exitcode", error_exitcode_, "0 to 255", {});
    }
    if (annotate_ != "github" && annotate_ != "none")
        return wrong_value("--annotate", annotate_, "github or none", {"github", "none"});
    request.annotates_github = annotate_ == "github";
    request.verifies_captures = verifies_captures_;
    return read_junit(request);
}

std::string RunCommand::read_junit(RunRequest& request) const {
    if (junit_.empty()) return {};
    std::error_code unknown;
    if (junit_.back() == '/' || std::filesystem::is_directory(junit_, unknown))
        return "--junit: expected a file, got the directory " + aoti_dbg::quoted(junit_) + ".";
    if (const Status possible = can_be_made(junit_); !possible.ok())
        return possible.message() + ". " + remedy_for(possible, "--junit", PlaceKind::file);
    request.junit = junit_;
    return {};
}

int RunCommand::run() {
    if (program_.empty()) return refuse("no program given. Try: aoti-dbg run -- python script.py");
    RunRequest request;
    request.program = program_;
    if (const std::string fault = read_variables(request); !fault.empty()) return refuse(fault);
    if (const std::string fault = contradiction(request); !fault.empty()) return refuse(fault);
    if (const std::string fault = read_own_flags(request); !fault.empty()) return refuse(fault);
    return run_program(request);
}

}  // namespace aoti_dbg::cli
