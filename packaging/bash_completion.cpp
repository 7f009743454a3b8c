// Writes the completion for bash. It needs nothing of the package bash-completion, but completes the
// arguments of a program with it if it is loaded.
#include "base/words.hpp"
#include "packaging/completion_text.hpp"

namespace aoti_dbg::packaging {
namespace {

constexpr const char* kBashOpening =
    R"bash(# Completion of aoti-dbg for bash. Generated from the declarations of the commands. Do not edit.
# shellcheck shell=bash disable=SC2207

)bash";

constexpr const char* kFunctions = R"bash(
# Completes files, or directories with -d.
_aoti_dbg_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen "${2:--f}" -- "$1"))
}

# Completes a program with arguments, whose first word has the index $1.
_aoti_dbg_program() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        COMPREPLY=($(compgen -c -- "$cur"))
    else
        _aoti_dbg_files "$cur"
    fi
}

_aoti_dbg() {
    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} at=2 ended=0 valued flag value
    COMPREPLY=()
    if ((COMP_CWORD < 2)); then
        COMPREPLY=($(compgen -W "$(_aoti_dbg_flags '') $_aoti_dbg_commands" -- "$cur"))
        return
    fi
    valued=" $(_aoti_dbg_valued "$command") "
    while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} == -* ]]; do
        flag=${COMP_WORDS[at]}
        ((at += 1))
        if [[ $flag == -- ]]; then
            ended=1
            break
        fi
        value=$at
        if [[ ${COMP_WORDS[at]-} == "=" ]]; then
            value=$((at + 1)) # bash makes three words of --flag=value
        elif [[ $valued != *" $flag "* ]]; then
            continue
        fi
        if ((COMP_CWORD <= value)); then
            [[ $cur != "=" ]] || cur=
            _aoti_dbg_value "$command $flag" "$cur"
            return
        fi
        at=$((value + 1))
    done
    if ((at == COMP_CWORD && !ended)) && [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$(_aoti_dbg_flags "$command")" -- "$cur"))
    elif [[ " $_aoti_dbg_starters " == *" $command "* ]]; then
        _aoti_dbg_program "$at"
    else
        _aoti_dbg_value "$command" "$cur"
    fi
}

complete -F _aoti_dbg aoti-dbg
)bash";

std::string case_line(const std::string& key, const std::string& action) {
    return "        " + shell_quoted(key) + ") " + action + " ;;\n";
}

std::string value_action(const DescribedOption& option) {
    std::string action;
    if (!option.words.empty())
        action = "COMPREPLY=($(compgen -W " + shell_quoted(joined(option.words, " ")) + " -- \"$2\"))";
    const bool takes_path = option.kind == ValueKind::file || option.kind == ValueKind::directory;
    if (!takes_path) return action;
    if (!action.empty()) action += "; ";
    return action + (option.kind == ValueKind::file ? "_aoti_dbg_files \"$2\"" : "_aoti_dbg_files \"$2\" -d");
}

/// Returns a function that prints a list of names per command.
std::string name_function(const char* name, const Description& description,
                          std::vector<std::string> (*names)(const DescribedCommand&)) {
    std::string text = std::string(name) + "() {\n    case $1 in\n";
    text += case_line("", "echo " + shell_quoted(joined(names(description.general), " ")));
    for (const DescribedCommand& command : description.commands)
        text += case_line(command.name, "echo " + shell_quoted(joined(names(command), " ")));
    return text + "    esac\n}\n\n";
}

std::string value_function(const Description& description) {
    std::string text =
        "# Completes $2, the value of the option $1, or the argument of the command $1.\n"
        "_aoti_dbg_value() {\n    case $1 in\n";
    for (const DescribedCommand& command : description.commands) {
        if (!command.arguments.empty())
            text += case_line(command.name, value_action(command.arguments.front()));
        for (const DescribedOption& option : command.options) {
            const std::string action = value_action(option);
            if (action.empty()) continue;
            for (const std::string& name : option.names)
                text += case_line(command.name + " " + name, action);
        }
    }
    return text + "    esac\n}\n";
}

}  // namespace

std::string bash_completion(const Description& description) {
    std::vector<std::string> commands;
    std::vector<std::string> starters;
    for (const DescribedCommand& command : description.commands) {
        commands.push_back(command.name);
        if (command.starts_program) starters.push_back(command.name);
    }
    return kBashOpening + ("_aoti_dbg_commands=" + shell_quoted(joined(commands, " "))) +
           "\n# These start a program with its own arguments.\n_aoti_dbg_starters=" +
           shell_quoted(joined(starters, " ")) + "\n\n" +
           name_function("_aoti_dbg_flags", description, all_names) +
           name_function("_aoti_dbg_valued", description, names_with_value) + value_function(description) +
           kFunctions;
}

}  // namespace aoti_dbg::packaging
