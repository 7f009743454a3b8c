#include "base/file_bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace aoti_dbg {

Descriptor open_to_read(const std::string& path) {
    return Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

bool read_fully(int descriptor, std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t got = read(descriptor, text.data() + done, text.size() - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return true;
}

Result<std::string> read_regular_file(const std::string& path, const char* what, std::uint64_t most) {
    const Descriptor file = open_to_read(path);
    struct stat info {};
    if (file.number() < 0 || fstat(file.number(), &info) != 0)
        return Status::error(path + ": " + std::strerror(errno));
    if (!S_ISREG(info.st_mode)) return Status::error(path + ": not " + what + ": not a regular file");
    if (static_cast<std::uint64_t>(info.st_size) > most)
        return Status::error(path + ": too large for " + what);
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    if (!read_fully(file.number(), text)) return Status::error(path + ": " + std::strerror(errno));
    return text;
}

}  // namespace aoti_dbg
