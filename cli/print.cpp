#include "cli/print.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/message.hpp"

namespace aoti_dbg::cli {

int print(const std::string& text) {
    std::signal(SIGPIPE, SIG_IGN);
    const bool whole =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (whole || errno == EPIPE) return 0;
    message(Severity::error, "standard output could not be written: %s", std::strerror(errno));
    return 1;
}

}  // namespace aoti_dbg::cli
