// Writes the completion for fish.
#include "base/words.hpp"
#include "packaging/completion_text.hpp"

namespace aoti_dbg::packaging {
namespace {

constexpr const char* kFishOpening =
    R"(# Completion of aoti-dbg for fish. Generated from the declarations of the commands. Do not edit.

)";

constexpr const char* kFishFunctions = R"(
# Succeeds if the command is $argv[1], or if no command is given yet.
function __aoti_dbg_command
    set -l words (commandline -opc)
    if test (count $words) -lt 2
        test -z "$argv[1]"
    else
        test "$words[2]" = "$argv[1]"
    end
end

# Prints the words of the program of `run`, one per line. Fails if the cursor is before the program.
function __aoti_dbg_program
    set -l words (commandline -opc)
    set -l at 3
    while test $at -le (count $words)
        set -l word $words[$at]
        set at (math $at + 1)
        if test "$word" = --
            string escape -- $words[$at..-1]
            return 0
        else if not string match -q -- '-*' $word
            string escape -- $words[(math $at - 1)..-1]
            return 0
        else if contains -- $word $__aoti_dbg_valued
            set at (math $at + 1)
        end
    end
    return 1
end

function __aoti_dbg_before_program
    __aoti_dbg_command $argv[1]; and not __aoti_dbg_program >/dev/null
end

function __aoti_dbg_complete_program
    set -l program (__aoti_dbg_program)
    set -l line (string join ' ' -- $program (commandline -ct))
    # An option of aoti-dbg is none of complete.
    string match -q -- '-*' "$line"; or complete -C "$line"
end

complete -c aoti-dbg -f
)";

std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

std::string option_line(const DescribedOption& option, const std::string& condition) {
    std::string text = "complete -c aoti-dbg -n " + fish_quoted(condition);
    for (const std::string& name : option.names)
        text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
    switch (option.kind) {
        case ValueKind::none:
            break;
        case ValueKind::file:
            text += " -r -F";
            break;
        case ValueKind::directory:
            text += " -x -a " + fish_quoted("(__fish_complete_directories)");
            break;
        case ValueKind::words:
        case ValueKind::other:
            text += " -x";
            break;
    }
    if (!option.words.empty()) text += " -a " + fish_quoted(joined(option.words, " "));
    return text + " -d " + fish_quoted(option.text) + "\n";
}

std::string argument_line(const DescribedCommand& command, const DescribedOption& argument) {
    std::string text = "complete -c aoti-dbg -n " + fish_quoted("__aoti_dbg_command " + command.name);
    if (argument.kind == ValueKind::words) {
        text += " -a " + fish_quoted(joined(argument.words, " "));
    } else if (argument.kind == ValueKind::directory) {
        text += " -a " + fish_quoted("(__fish_complete_directories)");
    } else {
        text += " -F";
    }
    return text + "\n";
}

std::string command_lines(const DescribedCommand& command) {
    std::string text = "complete -c aoti-dbg -n __aoti_dbg_command -a " + command.name + " -d " +
                       fish_quoted(command.text) + "\n";
    const std::string condition =
        (command.starts_program ? "__aoti_dbg_before_program " : "__aoti_dbg_command ") + command.name;
    for (const DescribedOption& option : command.options)
        text += option_line(option, condition);
    if (command.starts_program)
        text += "complete -c aoti-dbg -n " + fish_quoted("__aoti_dbg_command " + command.name) + " -a " +
                fish_quoted("(__aoti_dbg_complete_program)") + "\n";
    if (!command.arguments.empty()) text += argument_line(command, command.arguments.front());
    return text;
}

}  // namespace

std::string fish_completion(const Description& description) {
    std::string text = kFishOpening;
    for (const DescribedCommand& command : description.commands)
        if (command.starts_program)
            text += "set -g __aoti_dbg_valued " + joined(names_with_value(command), " ") + "\n";
    text += kFishFunctions;
    for (const DescribedOption& option : description.general.options)
        text += option_line(option, "__aoti_dbg_command");
    for (const DescribedCommand& command : description.commands)
        text += command_lines(command);
    return text;
}

}  // namespace aoti_dbg::packaging
