#include "cli/print.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/file_failure.hpp"
#include "base/message.hpp"

namespace aoti_dbg::cli {

int print(const std::string& text) {
    std::signal(SIGPIPE, SIG_IGN);
    const bool whole =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (whole || errno == EPIPE) return 0;
    error_message(ErrorCode::output_not_written, "cannot write to standard output: %s.",
                  errno_text(errno).c_str());
    return 1;
}

}  // namespace aoti_dbg::cli
