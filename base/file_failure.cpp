// See file_failure.hpp.
#include "base/file_failure.hpp"

#include <cctype>
#include <cerrno>
#include <cstring>

#include "base/errno_keeper.hpp"

namespace aoti_dbg {
namespace {

std::string set_option(std::string_view option, PlaceKind kind, std::string_view directory) {
    return "Set " + std::string(option) + " to " + (kind == PlaceKind::file ? "a file in " : "") +
           std::string(directory) + ".";
}

}  // namespace

std::string errno_text(int error) {
    const ErrnoKeeper keeper;
    char buffer[128] = "";
    // This is the GNU version of strerror_r(), which returns the text.
    std::string text = strerror_r(error, buffer, sizeof buffer);
    // An abbreviation such as "RFS" keeps its capitals.
    const bool is_word = text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0;
    if (is_word) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

Status file_failure(std::string_view what, const std::string& path, int error) {
    return Status::error(std::string(what) + " " + path + ": " + errno_text(error), error);
}

std::string remedy_for(int error, std::string_view option, PlaceKind kind) {
    switch (error) {
        case ENOSPC:
        case EDQUOT:
            return "Free disk space, or set " + std::string(option) + " to " +
                   (kind == PlaceKind::file ? "a file" : "a directory") +
                   " on a file system with enough space.";
        case EFBIG:
            return "Raise the file size limit of the process (ulimit -f).";
        case EMFILE:
            return "Raise the open file limit of the process (ulimit -n).";
        case EBADF:
            return "Check whether the program closes file descriptors that it did not open.";
        case ENFILE:
            return "Close files in other processes, or raise fs.file-max.";
        case ENOMEM:
            return "Free memory.";
        case ENAMETOOLONG:
            return "Set " + std::string(option) + " to a shorter path.";
        case ENOENT:
            return set_option(option, kind, "an existing, writable directory");
        case ESTALE:
            return set_option(option, kind, "a directory that no other program cleans up");
        default:
            return set_option(option, kind, "a writable directory");
    }
}

}  // namespace aoti_dbg
