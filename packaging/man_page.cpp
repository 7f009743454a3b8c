// Writes aoti-dbg(1).
#include "cli/run/run_help.hpp"
#include "packaging/description.hpp"
#include "packaging/roff_text.hpp"

namespace aoti_dbg::packaging {
namespace {

constexpr const char* kProgram = "aoti-dbg";

constexpr const char* kIntroduction =
    "`aoti-dbg` shows what a compiled PyTorch model (AOTInductor: a `.pt2` package or a model `.so`) does "
    "while it "
    "runs. It works on the program and the model you already have: nothing is recompiled, nothing is linked, "
    "and "
    "results stay bit-identical.\n\n"
    "`aoti-dbg run` preloads the library `libaoti_dbg.so` into a program. The other commands read what the "
    "library "
    "recorded.";

constexpr const char* kEnvironment =
    "Every option of `aoti-dbg run` that names a variable can be set in the environment, too. A flag wins "
    "over the "
    "environment, the environment over the configuration file, and the file over the default. An empty value "
    "counts as "
    "unset. You can use the library without the command: set `LD_PRELOAD` to its path, and `AOTI_DBG_LEVEL` "
    "or "
    "`AOTI_DBG_TRIAGE`. These variables have no flag:";

std::string section(std::string_view title) {
    return ".SH " + roff(title) + "\n";
}

/// Returns a paragraph per block of Markdown.
std::string paragraphs(std::string_view markdown) {
    std::string text = roff_body(markdown);
    for (std::size_t at = text.find(".IP\n"); at != std::string::npos; at = text.find(".IP\n", at))
        text.replace(at, 4, ".PP\n");
    return text;
}

std::string tag(const DescribedOption& option) {
    std::string text = ".TP\n";
    const char* separator = "";
    for (const std::string& name : option.names) {
        text += separator + bold(name);
        separator = ", ";
    }
    if (!option.value_name.empty()) text += " " + italic(option.value_name);
    return text + "\n";
}

/// Returns where else the option can be set, and to what.
std::string facts(const OptionInfo& info) {
    std::string text =
        "Variable: `" + std::string(info.variable) + "`. Values: " + std::string(info.values) +
        ". Default: " + (info.standard.empty() ? "unset" : "`" + std::string(info.standard) + "`");
    return text + ".";
}

std::string entry(const DescribedOption& option) {
    if (option.info == nullptr) {
        const bool ends = option.text.empty() || option.text.back() == '.';
        return tag(option) + roff_body(option.text + (ends ? "" : "."));
    }
    return tag(option) + roff_body(std::string(details_of(*option.info)) + "\n\n" + facts(*option.info));
}

std::string synopsis(const DescribedCommand& command) {
    std::string text = ".B " + roff(kProgram) + " " + roff(command.name) + "\n[\\fIoptions\\fR]";
    for (const DescribedOption& argument : command.arguments)
        text += " [" + italic(argument.names.front()) + "]";
    if (command.starts_program) text += " \\fB\\-\\-\\fR \\fIprogram\\fR [\\fIarguments\\fR...]";
    return text + "\n";
}

/// Returns the lines after "Examples:", as they are.
std::string examples(const DescribedCommand& command) {
    std::string_view lines = command.examples;
    const std::size_t title = lines.find('\n');
    if (title == std::string_view::npos) return {};
    lines.remove_prefix(title + 1);
    return ".nf\n" + roff(lines) + ".fi\n";
}

std::string command_section(const DescribedCommand& command) {
    std::string text =
        ".SS " + roff(std::string(kProgram) + " " + command.name) + "\n" + roff_body(command.text);
    for (const DescribedOption& argument : command.arguments)
        text += ".TP\n" + italic(argument.names.front()) + "\n" + roff_body(argument.text);
    if (command.starts_program) {
        text += ".PP\nThe options are below. The program follows them, after\n.BR \\-\\- .\n";
    } else {
        for (const DescribedOption& option : command.options)
            text += entry(option);
    }
    return text + ".PP\nExamples:\n.PP\n" + examples(command);
}

/// Returns a section of options, by what a reader wants to do.
std::string grouped_options(const DescribedCommand& command) {
    std::string text = section("OPTIONS OF " + std::string(kProgram) + " " + command.name);
    for (const OptionGroup group : kOptionGroups) {
        text += ".SS " + roff(title_of(group)) + "\n";
        for (const DescribedOption& option : command.options)
            if (option.group == title_of(group)) text += entry(option);
    }
    return text;
}

std::string exit_status() {
    std::string text = section("EXIT STATUS") +
                       "aoti\\-dbg run ends with the exit code or the signal of the program, or with:\n";
    for (const cli::ExitCode& code : cli::own_exit_codes())
        text += ".TP\n" + bold(code.number) + "\n" + roff_paragraph(code.meaning) + ".\n";
    return text +
           ".PP\nThe other commands end with 0, with 1 if they fail, and with 2 if the command line is "
           "wrong.\n";
}

std::string environment() {
    std::string text = section("ENVIRONMENT") + paragraphs(kEnvironment);
    for (const OptionInfo& info : option_table())
        if (info.flag.empty())
            text += ".TP\n" + bold(info.variable) + "\n" + roff_body(details_of(info)) +
                    ".IP\nValues: " + roff(info.values) + ".\n";
    return text;
}

std::string closing() {
    return section("FILES") +
           ".TP\n\\fBaoti_dbg/latest\\fR\nThe output directory of the newest run, in the working directory.\n"
           ".TP\n\\fBlibaoti_dbg.so\\fR\nThe library. The command looks for it beside itself and in "
           "\\fB../lib\\fR.\n"
           ".TP\n\\fBshare/doc/aoti\\-dbg/docs\\fR\nThe documentation, below the folder of the "
           "installation.\n" +
           section("SEE ALSO") + ".BR ld.so (8)\n";
}

}  // namespace

std::string man_page(const Description& description, std::string_view version) {
    std::string text = ".\\\" Generated from the declarations of the commands. Do not edit.\n";
    text += ".TH AOTI\\-DBG 1 \"\" \"aoti\\-dbg " + roff(version) + "\" \"User Commands\"\n";
    text += section("NAME") + "aoti\\-dbg \\- show what AOTInductor models do, on the unchanged binary\n";
    text += section("SYNOPSIS");
    for (const DescribedCommand& command : description.commands)
        text += synopsis(command) + ".br\n";
    text += section("DESCRIPTION") + paragraphs(kIntroduction);
    for (const DescribedOption& option : description.general.options)
        text += entry(option);
    text += section("COMMANDS");
    for (const DescribedCommand& command : description.commands)
        text += command_section(command);
    for (const DescribedCommand& command : description.commands)
        if (command.starts_program) text += grouped_options(command);
    return text + exit_status() + environment() + closing();
}

}  // namespace aoti_dbg::packaging
