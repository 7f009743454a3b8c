// Writes the man page and the completions of aoti-dbg into a folder. The build runs it. It is not installed.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "packaging/describe.hpp"

namespace {

namespace packaging = aoti_dbg::packaging;

int write_files(const std::filesystem::path& folder, const std::string& version) {
    const aoti_dbg::cli::Commands commands = aoti_dbg::cli::all_commands();
    const aoti_dbg::cli::AppPointer app = aoti_dbg::cli::declare_all(commands, version);
    const packaging::Description description = packaging::describe(*app, commands);
    const std::pair<const char*, std::string> files[] = {
        {"aoti-dbg.1", packaging::man_page(description, version)},
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

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 3) return write_files(argv[1], argv[2]);
        std::fputs("usage: aoti_dbg_describe FOLDER VERSION\n", stderr);
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
}
