// `aoti-dbg show` on the command line: parses its flags and picks the reader for them.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace aoti_dbg::cli {

/// Values as typed, empty if a flag is not given.
struct ShowFlags {
    std::string place = "aoti_dbg";
    std::string last;
    bool all = false;
    std::string thread;
    std::string format;
};

void add_flags(CLI::App& app, ShowFlags& flags);

/// Returns the exit code.
int show_command(const ShowFlags& flags);

}  // namespace aoti_dbg::cli
