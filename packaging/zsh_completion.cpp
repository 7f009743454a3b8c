// Writes the completion for zsh, a function that zsh finds by its file name _aoti-dbg.
#include "base/words.hpp"
#include "packaging/completion_text.hpp"

namespace aoti_dbg::packaging {
namespace {

constexpr const char* kZshOpening =
    R"(#compdef aoti-dbg
# Completion of aoti-dbg for zsh. Generated from the declarations of the commands. Do not edit.

)";

constexpr const char* kDispatch = R"(        '1: :_aoti_dbg_commands' \
        '*:: :->rest' && return
    if [[ $state == rest ]]; then
        curcontext="${curcontext%:*}-$words[1]:"
        (( $+functions[_aoti_dbg_$words[1]] )) && _aoti_dbg_$words[1]
    fi
}

_aoti-dbg "$@"
)";

/// Escapes what separates the parts of a specification.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string completer(const DescribedOption& option) {
    std::string words = "(" + joined(option.words, " ") + ")";
    switch (option.kind) {
        case ValueKind::file:
            // Both the words and files.
            if (!option.words.empty())
                return "{_alternative \"words:word:" + words + "\" \"files:file:_files\"}";
            return "_files";
        case ValueKind::directory:
            return "_files -/";
        case ValueKind::words:
            return words;
        case ValueKind::none:
        case ValueKind::other:
            break;
    }
    return " ";
}

/// Returns one line per name of the option.
std::string option_lines(const DescribedOption& option, const std::string& indent) {
    std::string text;
    for (const std::string& name : option.names) {
        std::string line = name;
        if (option.kind != ValueKind::none) line += name.rfind("--", 0) == 0 ? "=" : "+";
        line += "[" + escaped(option.text) + "]";
        if (option.kind != ValueKind::none)
            line += ":" + escaped(option.value_name) + ":" + completer(option);
        text += indent + shell_quoted(line) + " \\\n";
    }
    return text;
}

std::string command_function(const DescribedCommand& command) {
    std::string text = "_aoti_dbg_" + command.name + "() {\n    _arguments -S \\\n";
    for (const DescribedOption& option : command.options)
        text += option_lines(option, "        ");
    if (command.starts_program) {
        text += "        '(-)1:program:_command_names -e' \\\n        '*::arguments:_normal'\n";
    } else if (command.arguments.empty()) {
        text += "        && return\n";
    } else {
        const DescribedOption& argument = command.arguments.front();
        text += "        " +
                shell_quoted("1:" + escaped(argument.names.front()) + ":" + completer(argument)) + "\n";
    }
    return text + "}\n\n";
}

std::string commands_function(const Description& description) {
    std::string text = "_aoti_dbg_commands() {\n    local commands=(\n";
    for (const DescribedCommand& command : description.commands)
        text += "        " + shell_quoted(escaped(command.name) + ":" + command.text) + "\n";
    return text + "    )\n    _describe command commands\n}\n";
}

}  // namespace

std::string zsh_completion(const Description& description) {
    std::string text = kZshOpening;
    for (const DescribedCommand& command : description.commands)
        text += command_function(command);
    text += commands_function(description);
    text += "\n_aoti-dbg() {\n    local curcontext=$curcontext state line\n    _arguments -C -A '-*' \\\n";
    for (const DescribedOption& option : description.general.options)
        text += option_lines(option, "        ");
    return text + kDispatch;
}

}  // namespace aoti_dbg::packaging
