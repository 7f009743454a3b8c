#include "shim/record/line_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "config/pattern.hpp"
#include "shim/record/out_folder.hpp"
#include "shim/runtime/deadline_lock.hpp"

namespace aoti_dbg {

Result<std::unique_ptr<LineLog>> LineLog::open(const std::string& destination) {
    std::unique_ptr<LineLog> log(new LineLog);
    if (destination == "stderr" || destination == "stdout") {
        log->descriptor_ = destination == "stderr" ? STDERR_FILENO : STDOUT_FILENO;
        return log;
    }
    const std::string requested = expand_pattern(destination, ::getenv);
    struct stat info {};
    if (stat(requested.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
        // A terminal, a pipe or /dev/null is written as a stream. O_NONBLOCK keeps a pipe without a reader
        // from blocking.
        const int opened = ::open(requested.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (opened < 0) return file_failure("cannot open", requested, errno);
        log->descriptor_ = opened;
        log->device_ = info.st_dev;
        log->inode_ = info.st_ino;
        return log;
    }
    Result<PreallocatedFile> made = PreallocatedFile::create(requested);
    if (!made.ok()) return made.status();
    if (const std::string& path = made.value().path(); path != requested) {
        message(Severity::warn,
                "%s already exists. The log goes to %s. Remove the old file, or put %%p in AOTI_DBG_LOG.",
                requested.c_str(), path.c_str());
    }
    log->file_ = std::make_unique<MappedText>(std::move(made.value()));
    return log;
}

bool LineLog::write_slowly(const char* text, std::size_t length) {
    const bool is_written = file_ ? write_mapped(text, length) : write_stream(text, length);
    if (!is_written) {
        const auto lines = static_cast<std::uint64_t>(std::count(text, text + length, '\n'));
        lost_.fetch_add(lines, std::memory_order_relaxed);
    }
    return is_written;
}

bool LineLog::write_stream(const char* text, std::size_t length) {
    return was_open_at_start(descriptor_) && is_still_ours() && write_quietly(descriptor_, text, length);
}

bool LineLog::is_still_ours() const {
    if (inode_ == 0) return true;
    const int kept_errno = errno;
    struct stat info {};
    const bool ours = fstat(descriptor_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
    errno = kept_errno;
    return ours;
}

bool LineLog::write_mapped(const char* text, std::size_t length) {
    const std::lock_guard lock(lock_);
    if (closed_) return false;
    const Status appended = file_->append(text, length);
    if (appended.ok()) return true;
    closed_ = true;
    message(Severity::warn, "%s. The log ends here. %s", appended.message().c_str(),
            remedy_for(appended, "AOTI_DBG_LOG", PlaceKind::file).c_str());
    return false;
}

void LineLog::close() {
    if (!file_ || !lock_with_deadline(lock_)) return;
    const std::lock_guard lock(lock_, std::adopt_lock);
    const bool has_failed = std::exchange(closed_, true);  // write_mapped() printed why
    if (const Status cut = file_->cut(); !cut.ok() && !has_failed)
        message(Severity::warn, "%s. The log ends in blank lines.", cut.message().c_str());
}

}  // namespace aoti_dbg
