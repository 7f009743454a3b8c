#include "cli/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file_failure.hpp"
#include "base/message.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNames = 10000;

/// Returns 0, or the errno value of the failure.
int name_file(const std::string& unfinished, const std::string& path) {
    if (link(unfinished.c_str(), path.c_str()) == 0) return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    // This file system does not support links.
    if (access(path.c_str(), F_OK) == 0) return EEXIST;
    return rename(unfinished.c_str(), path.c_str()) == 0 ? 0 : errno;
}

}  // namespace

std::string NewFile::name_of(int number) const {
    if (number == 1) return path_;
    const fs::path path(path_);
    return (path.parent_path() /
            (path.stem().string() + "." + std::to_string(number) + path.extension().string()))
        .string();
}

NewFile::~NewFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!unfinished_.empty()) unlink(unfinished_.c_str());
}

Status NewFile::open() {
    if (!may_number_ && access(path_.c_str(), F_OK) == 0) return file_failure("cannot create", path_, EEXIST);
    const fs::path path(path_);
    const std::string unfinished = (path.parent_path() / ("." + path.filename().string() + "-" +
                                                          std::to_string(getpid()) + ".unfinished"))
                                       .string();
    descriptor_ = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode_);
    if (descriptor_ < 0) return file_failure("cannot create", path_, errno);
    unfinished_ = unfinished;
    return {};
}

Status NewFile::write(const std::string& bytes) {
    const int error = write_fully(descriptor_, bytes.data(), bytes.size());
    return error == 0 ? Status() : file_failure("cannot write", path_, error);
}

Result<std::string> NewFile::finish() {
    if (close(std::exchange(descriptor_, -1)) != 0) return file_failure("cannot write", path_, errno);
    for (int number = 1; number <= (may_number_ ? kMostNames : 1); ++number) {
        const std::string path = name_of(number);
        const int error = name_file(unfinished_, path);
        if (error == 0) return path;
        if (error != EEXIST) return file_failure("cannot create", path, error);
    }
    return file_failure("cannot create", path_, EEXIST);
}

}  // namespace aoti_dbg::cli
