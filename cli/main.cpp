// aoti-dbg: parses the command line and runs the command that it names.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "cli/commands.hpp"
#include "cli/run/run_program.hpp"
#include "cli/version.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

/// Returns nullptr for any other word.
Command* command_named(const std::string& word, const Commands& commands) {
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&word](const auto& command) { return command->name() == word; });
    return found == commands.end() ? nullptr : found->get();
}

int refuse_unknown(const std::string& word, const Commands& commands) {
    std::vector<std::string> names;
    std::transform(commands.begin(), commands.end(), std::back_inserter(names),
                   [](const auto& command) { return command->name(); });
    return refuse({}, "unknown command " + aoti_dbg::quoted(word) + "." + did_you_mean(word, names) +
                          " `aoti-dbg --help` lists the commands.");
}

int dispatch(std::vector<std::string> arguments) {
    const Commands commands = all_commands();
    const AppPointer app = declare_all(commands, version_text());
    if (arguments.empty()) {
        std::fputs(help_of(*app).c_str(), stderr);
        return kWrongUsage;
    }
    const std::string first = arguments.front();
    Command* const command = command_named(first, commands);
    if (command == nullptr && first.rfind('-', 0) != 0) return refuse_unknown(first, commands);
    if (command != nullptr) {
        if (const Status taken = command->take_program(arguments); !taken.ok())
            return command->refuse(taken.message());
    }
    const Parsed parsed = parse(*app, arguments);
    if (parsed.exit_code) return *parsed.exit_code;
    if (!parsed.fault.empty())
        return command != nullptr ? command->refuse(parsed.fault) : refuse(parsed.command, parsed.fault);
    // The options of `aoti-dbg` itself print and exit, so a command came first.
    return command == nullptr ? kWrongUsage : command->run();
}

}  // namespace
}  // namespace aoti_dbg::cli

int main(int argc, char** argv) {
    try {
        return aoti_dbg::cli::dispatch(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        aoti_dbg::error_message(aoti_dbg::ErrorCode::command_failed,
                                "the command failed: %s. Report this bug in aoti-dbg, with the command line.",
                                error.what());
        return aoti_dbg::cli::kOwnTrouble;
    }
}
