// Prints docs/options.md. A program of its own, built and run by scripts/generate-options-doc.
#include <cstdio>
#include <string>

#include "config/options_table.hpp"

int main() {
    std::string page =
        "<!-- Generated from config/options.def by scripts/generate-options-doc. Do not edit. -->\n"
        "# Options\n"
        "\n"
        "Options are environment variables, read once when the library is loaded. Those with a flag can be "
        "given to\n"
        "`aoti-dbg run`, which sets the variable for the program that it starts. A value that is not "
        "understood is\n"
        "reported on standard error, and the default is taken.\n";
    for (const aoti_dbg::OptionInfo& option : aoti_dbg::option_table()) {
        const auto code = [](std::string_view text) { return "`" + std::string(text) + "`"; };
        page += "\n## " + code(option.variable) + "\n\n" + std::string(option.help) + "\n\n";
        page += "- values: " + std::string(option.values) + "\n";
        page += "- default: " + (option.standard.empty() ? "unset" : code(option.standard)) + "\n";
        if (!option.flag.empty()) page += "- flag of `aoti-dbg run`: " + code(option.flag) + "\n";
    }
    return std::fputs(page.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
