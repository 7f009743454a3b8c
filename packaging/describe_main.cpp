// Writes the man page and the completions of aoti-dbg into a folder. The build runs it. It is not installed.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "cli/commands.hpp"
#include "packaging/description.hpp"

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: aoti_dbg_describe FOLDER VERSION\n", stderr);
        return 2;
    }
    namespace packaging = aoti_dbg::packaging;
    const std::filesystem::path folder = argv[1];
    const aoti_dbg::cli::Commands commands = aoti_dbg::cli::all_commands();
    CLI::App app(aoti_dbg::cli::kDescription, "aoti-dbg");
    aoti_dbg::cli::declare_all(app, commands, argv[2]);
    const packaging::Description description = packaging::describe(app, commands);
    const std::pair<const char*, std::string> files[] = {
        {"aoti-dbg.1", packaging::man_page(description, argv[2])},
        {"aoti-dbg.bash", packaging::bash_completion(description)},
        {"_aoti-dbg", packaging::zsh_completion(description)},
        {"aoti-dbg.fish", packaging::fish_completion(description)},
    };
    std::filesystem::create_directories(folder);
    for (const auto& [name, text] : files) {
        std::ofstream file(folder / name, std::ios::binary);
        file << text;
        file.close();
        if (!file) {
            std::fprintf(stderr, "error: cannot write %s\n", (folder / name).c_str());
            return 1;
        }
    }
    return 0;
}
