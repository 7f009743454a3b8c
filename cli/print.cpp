// See print.hpp.
#include "cli/print.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/file_failure.hpp"
#include "base/message.hpp"

namespace aoti_dbg::cli {
namespace {

int exit_code_for(int error) {
    if (error == 0 || error == EPIPE) return 0;
    error_message(ErrorCode::output_not_written, "cannot write to standard output: %s.",
                  errno_text(error).c_str());
    return 1;
}

}  // namespace

int print(const std::string& text) {
    return exit_code_for(write_fully(STDOUT_FILENO, text.data(), text.size()));
}

bool Output::flush() {
    if (error_ == 0) error_ = write_fully(STDOUT_FILENO, text.data(), text.size());
    text.clear();
    return error_ == 0;
}

int Output::exit_code() const {
    return exit_code_for(error_);
}

}  // namespace aoti_dbg::cli
