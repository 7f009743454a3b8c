#include "shim/save/tensor_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

namespace aoti_dbg {
namespace {

std::atomic<std::uint64_t> g_hidden_files{0};

/// Returns `parts` without the first `bytes`.
std::span<iovec> behind(std::span<iovec> parts, std::size_t bytes) {
    while (!parts.empty() && bytes >= parts.front().iov_len) {
        bytes -= parts.front().iov_len;
        parts = parts.subspan(1);
    }
    if (bytes != 0) {
        parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + bytes;
        parts.front().iov_len -= bytes;
    }
    return parts;
}

}  // namespace

Failed TensorFile::create(const OpenFolder& in) {
    if (folder_.naming() == TensorFolder::Naming::from_hidden) {
        if (const Failed failed = create_hidden()) return failed;
    } else {
        number_ = folder_.calls().open_at(in.number(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        if (number_ < 0) return {errno, "cannot create a file in"};
    }
    if (folder_.keeps_open()) return {};
    struct stat found {};
    if (folder_.calls().inspect(number_, "", &found) != 0) {
        const int error = errno;
        close(number_);
        number_ = -1;
        return {error, "cannot inspect a file in"};
    }
    device_ = found.st_dev;
    inode_ = found.st_ino;
    names_ = found.st_nlink;
    return {};
}

Failed TensorFile::create_hidden() {
    if (const Failed failed = folder_.enter(TensorFolder::kHidden, hidden_in_)) return failed;
    hidden_name_ = std::to_string(getpid()) + "-" + std::to_string(g_hidden_files.fetch_add(1));
    number_ = folder_.calls().open_at(hidden_in_.number(), hidden_name_.c_str(),
                                      O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (number_ >= 0) return {};
    const int error = errno;
    hidden_name_.clear();
    return {error, "cannot create a file in"};
}

bool TensorFile::is_still_ours() const {
    struct stat found {};
    if (folder_.calls().inspect(number_, "", &found) != 0) return errno != EBADF;
    return found.st_dev == device_ && found.st_ino == inode_ && found.st_nlink == names_ &&
           static_cast<std::uint64_t>(found.st_size) == end_;
}

Failed TensorFile::look_whether_ours() {
    if (number_ < 0 || folder_.keeps_open() || is_still_ours()) return {};
    number_ = -1;  // the number may be another file's by now
    return {EBADF, "the program closed one of the library's files in"};
}

Failed TensorFile::write(std::span<iovec> parts, std::uint64_t from) {
    if (const Failed failed = look_whether_ours()) return failed;
    parts = behind(parts, 0);
    const std::uint64_t begin = from;
    while (!parts.empty()) {
        const auto count = static_cast<int>(std::min<std::size_t>(parts.size(), IOV_MAX));
        const ssize_t written =
            folder_.calls().write_at(number_, parts.data(), count, static_cast<off_t>(from));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return {written == 0 ? ENOSPC : errno, "cannot write a file in"};
        from += static_cast<std::uint64_t>(written);
        if (!folder_.keeps_open()) end_ = std::max(end_, from);
        parts = behind(parts, static_cast<std::size_t>(written));
    }
    if (WriteBack* const write_back = folder_.write_back()) write_back->begin(number_, begin, from - begin);
    return {};
}

Failed TensorFile::publish(const OpenFolder& in, const char* name) {
    constexpr const char* kDoing = "cannot link a file in";
    const FileCalls& calls = folder_.calls();
    if (const Failed failed = look_whether_ours()) return failed;
    if (folder_.naming() == TensorFolder::Naming::from_hidden) return rename_to(in, name);
    int result = -1;
    if (folder_.naming() == TensorFolder::Naming::by_descriptor)
        result = calls.link_at(number_, "", in.number(), name, AT_EMPTY_PATH);
    // Without CAP_DAC_READ_SEARCH, the kernel refuses a descriptor with ENOENT if the credentials of the
    // program have changed since the open.
    if (folder_.naming() == TensorFolder::Naming::by_proc || (result != 0 && errno == ENOENT)) {
        // Uses the thread's own entry, because /proc/self shows the descriptors of the program.
        char path[48];
        std::snprintf(path, sizeof path, "/proc/thread-self/fd/%d", number_);
        result = calls.link_at(AT_FDCWD, path, in.number(), name, AT_SYMLINK_FOLLOW);
    }
    if (result != 0) return {errno, kDoing};
    close(number_);
    number_ = -1;
    return {};
}

/// Uses a rename that does not replace, or else a link, or else a check before a rename. The check is enough
/// in a folder that no other process writes to.
Failed TensorFile::rename_to(const OpenFolder& in, const char* name) {
    constexpr const char* kDoing = "cannot rename a file in";
    const FileCalls& calls = folder_.calls();
    // Network file systems report a failed write only on close.
    if (number_ >= 0) {
        const int closed = calls.close(number_);
        number_ = -1;
        if (closed != 0) return {errno, "cannot write a file in"};
    }
    const int from = hidden_in_.number();
    const char* const hidden = hidden_name_.c_str();
    int result = calls.rename_new_at(from, hidden, in.number(), name);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
        result = calls.link_at(from, hidden, in.number(), name, 0);
        if (result == 0) {
            (void)calls.unlink_at(from, hidden, 0);
        } else if (errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP) {
            struct stat found {};
            if (calls.inspect(in.number(), name, &found) == 0) return {EEXIST, kDoing};
            result = calls.rename_at(from, hidden, in.number(), name);
        }
    }
    if (result != 0) return {errno, kDoing};
    hidden_name_.clear();
    return {};
}

void TensorFile::discard() {
    if (number_ >= 0) {
        if (WriteBack* const write_back = folder_.write_back()) write_back->forget(number_);
        if (folder_.keeps_open() || is_still_ours()) close(number_);
        number_ = -1;
    }
    if (!hidden_name_.empty()) {
        (void)folder_.calls().unlink_at(hidden_in_.number(), hidden_name_.c_str(), 0);
        hidden_name_.clear();
    }
    hidden_in_.leave();
}

}  // namespace aoti_dbg
