// See repeat_commands.hpp.
#include "triage/judge/repeat_commands.hpp"

#include <algorithm>

#include "base/clean_text.hpp"
#include "triage/judge/verdict_words.hpp"

namespace aoti_dbg {
namespace {

/// Returns the run's options except `own`, which the command sets itself: "--scope all ".
std::string flags_text(const Evidence& evidence, std::initializer_list<std::string_view> own) {
    std::string text;
    for (const auto& [flag, value] : evidence.flags)
        if (std::find(own.begin(), own.end(), flag) == own.end())
            text += flag + " " + shell_text({value}) + " ";
    return text;
}

bool has_flag(const Evidence& evidence, std::string_view flag) {
    return std::any_of(evidence.flags.begin(), evidence.flags.end(),
                       [flag](const auto& one) { return one.first == flag; });
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

std::string program_text(const Evidence& evidence) {
    return evidence.command.empty() ? "..." : shell_text(evidence.command);
}

std::string tool_text(const Evidence& evidence) {
    return evidence.tool.empty() ? "aoti-dbg" : shell_text({evidence.tool});
}

std::vector<std::string> ways_to_repeat(const Evidence& evidence) {
    const std::string run = tool_text(evidence) + " run --triage ";
    const std::string program = "-- " + program_text(evidence);
    if (!evidence.uses_cuda && !evidence.hang)
        return {run + flags_text(evidence, {"--sync", "--level"}) + "--sync on --level 2 " + program};
    const std::string blocking = std::string(evidence.uses_cuda ? "CUDA_LAUNCH_BLOCKING=1 " : "") + run +
                                 (evidence.hang && !has_flag(evidence, "--hang") ? "--hang 30 " : "") +
                                 flags_text(evidence, {}) + program;
    if (evidence.hang) return {blocking};
    return {blocking, "compute-sanitizer --tool memcheck " + program_text(evidence)};
}

std::vector<std::string> repeat_lines(const std::vector<std::string>& commands, std::size_t width) {
    std::vector<std::string> lines;
    for (const std::string& command : commands) {
        if (clean_text(command) != command) return {};
        add_lines(command, width, lines);
    }
    return lines;
}

}  // namespace aoti_dbg
