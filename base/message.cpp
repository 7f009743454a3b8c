// All text for people is written here. Uses only libc, because it runs before and after everything else in
// the process.
#include "base/message.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/errno_keeper.hpp"

namespace aoti_dbg {
namespace {

enum class AtStart : int { unknown, open, closed };
// The states of standard error and standard output. They are zero-initialized, so a hook can print before any
// constructor of this library has run.
std::atomic<AtStart> stderr_at_start{AtStart::unknown};
std::atomic<AtStart> stdout_at_start{AtStart::unknown};

void inspect(int descriptor, std::atomic<AtStart>& at_start) {
    if (at_start.load(std::memory_order_relaxed) != AtStart::unknown) return;
    const int kept = errno;
    const bool open = fcntl(descriptor, F_GETFD) != -1;
    at_start.store(open ? AtStart::open : AtStart::closed, std::memory_order_relaxed);
    errno = kept;
}

// 101 is the first priority that programs may use, so this runs before the library's own static objects.
__attribute__((constructor(101))) void look_early() {
    inspect(STDERR_FILENO, stderr_at_start);
    inspect(STDOUT_FILENO, stdout_at_start);
}

/// Keeps the signals of a failed write (SIGPIPE: no reader, SIGXFSZ: file size limit) away from the host. It
/// blocks them while it lives and consumes those that our write made pending.
class WriteSignalGuard {
  public:
    WriteSignalGuard() {
        sigemptyset(&ours_);
        for (const int signal : kRaised)
            sigaddset(&ours_, signal);
        active_ = pthread_sigmask(SIG_BLOCK, &ours_, &before_) == 0;
        // Only a signal that was blocked before can be pending. The check saves a system call for all others.
        for (const int signal : kRaised) {
            if (active_ && sigismember(&before_, signal) == 1 && is_pending(signal))
                sigdelset(&ours_, signal);
        }
    }
    ~WriteSignalGuard() {
        if (!active_) return;
        const timespec no_wait{};
        while (raised_ && sigtimedwait(&ours_, nullptr, &no_wait) == -1 && errno == EINTR) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    WriteSignalGuard(const WriteSignalGuard&) = delete;
    WriteSignalGuard& operator=(const WriteSignalGuard&) = delete;

    /// Records that a write failed in a way that raises a signal.
    void set_raised() { raised_ = true; }

  private:
    static constexpr int kRaised[] = {SIGPIPE, SIGXFSZ};

    static bool is_pending(int signal) {
        sigset_t pending;
        sigemptyset(&pending);
        sigpending(&pending);
        return sigismember(&pending, signal) == 1;
    }

    sigset_t ours_{};
    sigset_t before_{};
    bool active_ = false;
    bool raised_ = false;
};

/// `label` is "warn" or "error AD3002".
__attribute__((format(printf, 2, 0))) void speak(const char* label, const char* format, va_list arguments) {
    if (!was_open_at_start(STDERR_FILENO)) return;
    const ErrnoKeeper keeper;
    char line[kMessageCap + 1];
    const long tid = syscall(SYS_gettid);
    const int prefix =
        std::snprintf(line, sizeof line, "aoti-dbg[%d:%ld] %s: ", static_cast<int>(getpid()), tid, label);
    const auto start = static_cast<std::size_t>(prefix);
    const int requested = std::vsnprintf(line + start, sizeof line - start, format, arguments);
    if (requested < 0) return;
    std::size_t length = start + static_cast<std::size_t>(requested);
    if (length + 1 > kMessageCap) {
        length = kMessageCap - 1;
        std::memset(line + length - 3, '.', 3);
    }
    // A quoted value may contain line breaks or terminal controls. They become spaces, so that a message
    // stays one plain line.
    for (std::size_t i = start; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(line[i]);
        if (byte < 0x20U || byte == 0x7fU) line[i] = ' ';
    }
    line[length] = '\n';
    write_quietly(STDERR_FILENO, line, length + 1);
}

}  // namespace

bool was_open_at_start(int descriptor) {
    if (descriptor != STDERR_FILENO && descriptor != STDOUT_FILENO) return true;
    std::atomic<AtStart>& at_start = descriptor == STDERR_FILENO ? stderr_at_start : stdout_at_start;
    inspect(descriptor, at_start);
    return at_start.load(std::memory_order_relaxed) == AtStart::open;
}

int write_fully(int descriptor, const char* text, std::size_t length) {
    const ErrnoKeeper keeper;
    WriteSignalGuard guard;
    while (length > 0) {
        const ssize_t written = write(descriptor, text, length);
        if (written < 0) {
            if (errno == EINTR) continue;
            const int error = errno;
            if (error == EPIPE || error == EFBIG) guard.set_raised();
            return error;
        }
        if (written == 0) return ENOSPC;
        text += written;
        length -= static_cast<std::size_t>(written);
    }
    return 0;
}

void message(Severity severity, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    speak(severity == Severity::info ? "info" : "warn", format, arguments);
    va_end(arguments);
}

void error_message(ErrorCode code, const char* format, ...) {
    char label[sizeof "error AD4294967295"];
    std::snprintf(label, sizeof label, "error AD%u", static_cast<unsigned>(code));
    va_list arguments;
    va_start(arguments, format);
    speak(label, format, arguments);
    va_end(arguments);
}

}  // namespace aoti_dbg
