#include "cli/recorded_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>

#include "base/message.hpp"

namespace aoti_dbg::cli {

RecordedFile::RecordedFile(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
    if (file_.number() < 0) error_ = errno;
}

std::size_t RecordedFile::read(char* to, std::size_t bytes) {
    ssize_t got = 0;
    do {
        got = ::read(file_.number(), to, bytes);
    } while (got < 0 && errno == EINTR);
    if (got < 0) error_ = errno;
    return got < 0 ? 0 : static_cast<std::size_t>(got);
}

void warn_of_gaps(const char* path, const ReadNotes& notes) {
    if (notes.is_newer) {
        message(Severity::warn,
                "%s is of a newer version than this aoti-dbg. Unknown parts are left out. Use the aoti-dbg "
                "of the library that wrote it.",
                path);
    }
    if (notes.damaged != 0) {
        message(Severity::warn,
                "%s: %" PRIu64 " of %" PRIu64 " lines are damaged and left out. The first is line %" PRIu64
                ".",
                path, notes.damaged, notes.lines, notes.first_damaged);
    }
    if (notes.is_cut) {
        message(Severity::info,
                "%s: the last line is incomplete and left out. The program was killed, or is still writing.",
                path);
    }
}

}  // namespace aoti_dbg::cli
