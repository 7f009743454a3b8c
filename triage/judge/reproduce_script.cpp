// See reproduce_script.hpp.
#include "triage/judge/reproduce_script.hpp"

#include <algorithm>

#include "base/clean_text.hpp"

namespace aoti_dbg {
namespace {

/// Returns the run's options except `own`, which the command sets itself: "--scope all ".
std::string flags_text(const CrashReport& report, std::initializer_list<std::string_view> own) {
    std::string text;
    for (const auto& [flag, value] : report.flags)
        if (std::find(own.begin(), own.end(), flag) == own.end())
            text += flag + " " + shell_text({value}) + " ";
    return text;
}

bool has_flag(const CrashReport& report, std::string_view flag) {
    return std::any_of(report.flags.begin(), report.flags.end(),
                       [flag](const auto& one) { return one.first == flag; });
}

/// A file may contain any name.
bool is_identifier(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }) && (name.front() < '0' || name.front() > '9');
}

/// "CUDA_LAUNCH_BLOCKING=1 ..."
std::string beginning_of(const std::string& command) {
    return command.substr(0, command.find(' ')) + " ...";
}

/// Returns the last blank before `width` where a shell accepts a line break, else the first one after it; 0:
/// none.
std::size_t cut_of(std::string_view command, std::size_t width) {
    std::size_t cut = 0;
    bool is_quoted = false;
    for (std::size_t i = 0; i < command.size() && (i < width || cut == 0); ++i) {
        if (command[i] == '\\' && !is_quoted)
            ++i;  // an escaped quote, as in "it's", neither opens nor closes a quotation
        else if (command[i] == '\'')
            is_quoted = !is_quoted;
        else if (command[i] == ' ' && !is_quoted)
            cut = i;
    }
    return cut;
}

/// A word that is longer than a line stays whole.
void add_lines(std::string_view command, std::size_t width, std::vector<std::string>& lines) {
    constexpr std::string_view kGoesOn = " \\";
    while (characters_in(command) > width) {
        const std::size_t cut = cut_of(command, width - kGoesOn.size());
        if (cut == 0) break;
        lines.push_back(std::string(command.substr(0, cut)) + std::string(kGoesOn));
        command.remove_prefix(cut + 1);
    }
    lines.emplace_back(command);
}

}  // namespace

std::string shell_text(const std::vector<std::string>& words) {
    constexpr std::string_view kPlain = "%+,-./0123456789:=@_";
    std::string text;
    for (const std::string& word : words) {
        const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   kPlain.find(c) != std::string_view::npos;
        });
        if (!text.empty()) text += ' ';
        if (is_plain) {
            text += word;
            continue;
        }
        text += '\'';
        for (const char c : word)
            text += c == '\'' ? std::string("'\\''") : std::string(1, c);
        text += '\'';
    }
    return text;
}

std::string program_text(const CrashReport& report) {
    return report.command.empty() ? "..." : shell_text(report.command);
}

std::string tool_text(const CrashReport& report) {
    return report.tool.empty() ? "aoti-dbg" : shell_text({report.tool});
}

std::vector<std::string> ways_to_repeat(const CrashReport& report) {
    const std::string run = tool_text(report) + " run --triage ";
    const std::string program = "-- " + program_text(report);
    if (!report.uses_cuda && !report.hang)
        return {run + flags_text(report, {"--sync", "--level"}) + "--sync on --level 2 " + program};
    const std::string blocking = std::string(report.uses_cuda ? "CUDA_LAUNCH_BLOCKING=1 " : "") + run +
                                 (report.hang && !has_flag(report, "--hang") ? "--hang 30 " : "") +
                                 flags_text(report, {}) + program;
    if (report.hang) return {blocking};
    return {blocking, "compute-sanitizer --tool memcheck " + program_text(report)};
}

std::vector<std::string> repeat_lines(const CrashReport& report, std::size_t width) {
    std::vector<std::string> lines;
    for (const std::string& command : report.repeat) {
        std::string clean;
        append_clean(command, clean);
        if (clean != command) return {};
        add_lines(command, width, lines);
    }
    return lines;
}

void append_repeat_script(const CrashReport& report, std::string& out) {
    out += "#!/bin/sh\n# Reproduces the crash that the report in this folder describes. $1: which command, ";
    out += report.repeat.size() == 1 ? "1.\n" : "1 to " + std::to_string(report.repeat.size()) + ".\n";
    if (!report.working_folder.empty()) out += "cd -- " + shell_text({report.working_folder}) + " || exit\n";
    for (const auto& [name, value] : report.repeat_variables)
        if (is_identifier(name)) out += "export " + name + "=" + shell_text({value}) + "\n";
    out += "# The shell sets all other variables: PATH, LD_LIBRARY_PATH, PYTHONPATH, ...\n";
    out += "case ${1:-1} in\n";
    for (std::size_t i = 0; i < report.repeat.size(); ++i)
        out += std::to_string(i + 1) + ")\n" + report.repeat[i] + "\n;;\n";
    out += "*)\necho \"$0: no command $1\" >&2\nexit 2\n;;\nesac\n";
}

std::vector<std::string> script_lines(const CrashReport& report) {
    const std::string command = "sh " + shell_text({report.repeat_script});
    std::string clean;
    append_clean(command, clean);
    const std::string name = report.repeat_script.substr(report.repeat_script.rfind('/') + 1);
    const std::string line = clean == command ? command : "in the output folder: sh " + name;
    if (report.repeat.size() == 1) return {line};
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < report.repeat.size(); ++i)
        lines.push_back(line + " " + std::to_string(i + 1) + "  # " + beginning_of(report.repeat[i]));
    return lines;
}

}  // namespace aoti_dbg
