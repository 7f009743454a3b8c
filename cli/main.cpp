// aoti-dbg: reads the command line and calls the command. Flags of `run` come from the table of options.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli_run.hpp"
#include "cli/cli_show.hpp"
#include "config/options_table.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg run -- python infer.py                      print each kernel that the model launches\n"
    "  aoti-dbg run --log names.log -- ./server --port 80   into a file, which survives a crash\n"
    "  aoti-dbg show aoti_dbg                               the last calls of the newest run\n";
constexpr const char* kRunExamples =
    "Examples:\n"
    "  aoti-dbg run -- python infer.py\n"
    "  aoti-dbg run --filter triton_poi_fused_relu_0 --log names.log -- ./server\n"
    "\n"
    "Ends as the program ended: with its exit code, or by the same signal. 125: trouble of aoti-dbg's own,\n"
    "126: the program cannot be executed, 127: it was not found.\n";
constexpr const char* kShowExamples =
    "Examples:\n"
    "  aoti-dbg show aoti_dbg/20261121-093000-4242\n"
    "  aoti-dbg show --thread 4250 --last 100 aoti_dbg\n";

constexpr int kWrongUsage = 2;

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

/// CLI11 does not know that a program follows the flags of `run`.
class Formatter : public CLI::Formatter {
  public:
    std::string make_usage(const CLI::App* app, std::string name) const override {
        if (app->get_name() == "run") return "Usage: " + name + " [OPTIONS] -- program [arguments...]\n";
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

/// Where the program to be run begins in the command line of `run`; nothing behind that is ours to read.
/// Every flag takes one value.
std::size_t program_begin(const std::vector<std::string>& arguments) {
    std::size_t i = 0;
    while (i < arguments.size()) {
        const std::string& argument = arguments[i];
        if (argument == "--" || argument.empty() || argument[0] != '-') break;
        const bool alone =
            argument == "-h" || argument == "--help" || argument.find('=') != std::string::npos;
        i += alone ? 1 : 2;
    }
    return std::min(i, arguments.size());
}

int run_command(const std::list<Flag>& flags, std::vector<std::string> program) {
    if (!program.empty() && program.front() == "--") program.erase(program.begin());
    if (program.empty()) {
        std::fprintf(stderr, "aoti-dbg run: no program given; try: aoti-dbg run -- python script.py\n");
        return kOwnTrouble;
    }
    RunRequest request;
    request.program = std::move(program);
    for (const Flag& flag : flags) {
        if (flag.option->count() == 0) continue;
        const std::string fault = fault_of_value(flag.info->variable, flag.value);
        if (!fault.empty()) {
            std::fprintf(stderr, "aoti-dbg run: %s: %s\n", std::string(flag.info->flag).c_str(),
                         fault.c_str());
            return kOwnTrouble;
        }
        request.variables.emplace_back(flag.info->variable, flag.value);
    }
    return run(request);
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
    std::list<Flag> flags;
    for (const OptionInfo& info : option_table()) {
        if (info.flag.empty()) continue;
        Flag& flag = flags.emplace_back(Flag{&info, {}, nullptr});
        flag.option = run_app->add_option(std::string(info.flag), flag.value, description(info));
        flag.option->type_name("")->take_last();
    }

    ShowRequest show_request{"aoti_dbg", 20, false, std::nullopt};
    std::uint32_t thread = 0;
    CLI::App* const show_app = app.add_subcommand("show", "Print the last calls that a flight ring holds");
    show_app->footer(kShowExamples);
    show_app->add_option("place", show_request.place,
                         "A ring, or a folder with rings in or below it (aoti_dbg)");
    show_app->add_option("--last", show_request.last,
                         "How many calls (20); older ones that did not end come too");
    show_app->add_flag("--all", show_request.all, "Every call that the ring holds");
    CLI::Option* const thread_option =
        show_app->add_option("--thread", thread, "Only the calls of this thread, by its number");

    const bool is_run = !arguments.empty() && arguments.front() == "run";
    std::vector<std::string> program;
    if (is_run) {
        const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
        const auto begin = static_cast<std::ptrdiff_t>(program_begin(rest));
        program.assign(rest.begin() + begin, rest.end());
        arguments.resize(1 + static_cast<std::size_t>(begin));
    }
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        if (app.exit(error) == 0) return 0;
        return is_run ? kOwnTrouble : kWrongUsage;
    }
    if (is_run) return run_command(flags, std::move(program));
    if (thread_option->count() > 0) show_request.thread = thread;
    return show(show_request);
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
