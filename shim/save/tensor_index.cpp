#include "shim/save/tensor_index.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "shim/record/written_bytes.hpp"

namespace aoti_dbg {
namespace {

constexpr int kAppend = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
// Lines written between two checks that the file was not replaced.
constexpr unsigned kUsesOfOpen = 256;

}  // namespace

Failed TensorIndex::create(std::string_view header) {
    // Runs on a thread of the program, where a file beyond the size limit raises SIGXFSZ.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < header.size())
        return {EFBIG, "cannot create the index in"};
    OpenFolder home;
    if (const Failed failed = folder_.enter_home(home)) return failed;
    const FileCalls& calls = folder_.calls();
    file_.emplace(calls.open_at(home.number(), kName, kAppend | O_CREAT | O_EXCL, 0600));
    struct stat found {};
    Failed failed;
    if (file_->number() < 0 || calls.inspect(file_->number(), "", &found) != 0) {
        failed = {errno, "cannot create the index in"};
    } else {
        device_ = found.st_dev;
        inode_ = found.st_ino;
        failed = write(header);
    }
    file_.reset();
    return failed;
}

Failed TensorIndex::append(std::string_view lines) {
    Failed failed;
    if (!file_ || ++uses_ >= kUsesOfOpen) failed = open_again();
    if (!failed) failed = ends_torn_ ? write("\n" + std::string(lines)) : write(lines);
    if (!failed) ends_torn_ = false;
    if (!folder_.keeps_open() || failed) file_.reset();
    return failed;
}

Failed TensorIndex::append_evicted(std::string_view line, std::uint32_t run, std::uint64_t files,
                                   std::uint64_t dead) {
    const std::uint64_t at = bytes();
    if (const Failed failed = append(line)) return failed;
    gone_[run] = at;
    dead_ += dead + line.size();
    ++gone_runs_;
    gone_files_ += files;
    return {};
}

Failed TensorIndex::open_again() {
    OpenFolder home;
    file_.reset();
    uses_ = 0;
    if (const Failed failed = folder_.enter_home(home)) return failed;
    const FileCalls& calls = folder_.calls();
    file_.emplace(calls.open_at(home.number(), kName, kAppend, 0));
    struct stat found {};
    if (file_->number() < 0 || calls.inspect(file_->number(), "", &found) != 0)
        return {errno, "cannot open the index in"};
    if (found.st_dev != device_ || found.st_ino != inode_)
        return {ESTALE, "another file has replaced the index in"};
    return {};
}

Failed TensorIndex::write(std::string_view lines) {
    const FileCalls& calls = folder_.calls();
    ssize_t written = -1;
    do {
        written = calls.append(file_->number(), lines.data(), lines.size());
    } while (written < 0 && errno == EINTR);
    if (written == static_cast<ssize_t>(lines.size())) {
        bytes_.fetch_add(lines.size(), std::memory_order_relaxed);
        count_written_bytes(written);
        return {};
    }
    const int error = written < 0 ? errno : ENOSPC;
    // A partial line must not precede the next one.
    if (written > 0 && calls.cut(file_->number(), static_cast<off_t>(bytes())) != 0) {
        bytes_.fetch_add(static_cast<std::uint64_t>(written), std::memory_order_relaxed);
        ends_torn_ = true;
    }
    return {error, "cannot write the index in"};
}

}  // namespace aoti_dbg
