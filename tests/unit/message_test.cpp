// Lines of text must reach the user without side effects: no signal, no changed errno, no foreign file.
#include "base/message.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::test::message_test {
namespace {

bool is_pending(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigpending(&set);
    return sigismember(&set, signal) == 1;
}

bool is_blocked(int signal) {
    sigset_t set;
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, nullptr, &set);
    return sigismember(&set, signal) == 1;
}

/// A descriptor whose other end is closed. Writing to it raises SIGPIPE, which ends the process by default.
int broken(bool socket) {
    std::array<int, 2> ends{};
    REQUIRE((socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) : pipe(ends.data())) == 0);
    close(ends[0]);
    return ends[1];
}

/// The text that message() wrote while standard error was a file.
template <typename Speak>
std::string spoken(Speak speak) {
    const int file = memfd_create("stderr", MFD_CLOEXEC);
    const int kept = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    speak();
    dup2(kept, STDERR_FILENO);
    close(kept);
    std::string text(65536, '\0');
    text.resize(static_cast<std::size_t>(pread(file, text.data(), text.size(), 0)));
    close(file);
    return text;
}

}  // namespace

TEST_CASE("Writing without a reader raises no signal and leaves none pending") {
    const int descriptor = broken(GENERATE(false, true));
    errno = 77;
    CHECK_FALSE(write_quietly(descriptor, "x", 1));
    CHECK(errno == 77);
    CHECK_FALSE(is_pending(SIGPIPE));
    CHECK_FALSE(is_blocked(SIGPIPE));
    close(descriptor);
}

TEST_CASE("A SIGPIPE that the program had pending stays pending") {
    sigset_t pipe_only;
    sigset_t before;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    raise(SIGPIPE);
    const int descriptor = broken(false);
    CHECK_FALSE(write_quietly(descriptor, "x", 1));
    CHECK(is_pending(SIGPIPE));
    CHECK(is_blocked(SIGPIPE));
    const timespec no_wait{};
    sigtimedwait(&pipe_only, nullptr, &no_wait);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(descriptor);
}

TEST_CASE("A file at its size limit raises no SIGXFSZ") {
    const TempFolder folder;
    const int file = open((folder.path() / "full").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
    const bool written = write_quietly(file, "x", 1);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_FALSE(written);
    CHECK_FALSE(is_pending(SIGXFSZ));
    close(file);
}

TEST_CASE("A full disk, a closed descriptor and a full pipe are reported as failures, and keep errno") {
    errno = 77;
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    REQUIRE(full >= 0);
    CHECK_FALSE(write_quietly(full, "x", 1));
    close(full);
    CHECK_FALSE(write_quietly(full, "x", 1));
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_NONBLOCK) == 0);
    errno = 77;
    const std::string more(1U << 20U, 'x');
    CHECK_FALSE(write_quietly(ends[1], more.data(), more.size()));
    CHECK(errno == 77);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("If standard error was closed, nothing goes to the file that took its number") {
    const TempFolder folder;
    const std::string file = folder.path() / "data";
    const Outcome outcome = run_program({"/bin/sh", "-c", "exec \"$0\" \"$1\" 2>&-", places::kSpeaker, file});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(read_text(file).empty());
}

TEST_CASE("A line that is too long is cut, with a mark") {
    const std::string line = spoken([] { message(Severity::warn, "%s", std::string(5000, 'a').c_str()); });
    CHECK(line.size() == kMessageCap);
    CHECK(line.substr(line.size() - 5) == "a...\n");
}

TEST_CASE("The longest line that fits is not cut") {
    const std::string prefix = spoken([] { message(Severity::warn, "%s", ""); });
    const std::string text(kMessageCap - prefix.size(), 'a');
    CHECK(spoken([&] { message(Severity::warn, "%s", text.c_str()); }).substr(kMessageCap - 4) == "aaa\n");
    CHECK(spoken([&] { message(Severity::warn, "%sa", text.c_str()); }).substr(kMessageCap - 4) == "...\n");
}

TEST_CASE("A value with line breaks or terminal controls stays one plain line") {
    const std::string line = spoken([] { message(Severity::warn, "%s", "a\nb\x1b[31mc\x7f"); });
    CHECK(line.find(": a b [31mc \n") != std::string::npos);
}

TEST_CASE("A line names process, thread and severity, and keeps errno") {
    errno = 77;
    const std::string line = spoken([] { message(Severity::info, "seen %d calls", 3); });
    CHECK(errno == 77);
    const std::string pid = std::to_string(getpid());
    CHECK(line == "aoti-dbg[" + pid + ":" + std::to_string(gettid()) + "] info: seen 3 calls\n");
}

TEST_CASE("An error names its code") {
    const std::string line =
        spoken([] { error_message(ErrorCode::program_not_started, "cannot execute %s.", "x"); });
    CHECK(line.ends_with("] error AD3006: cannot execute x.\n"));
}

}  // namespace aoti_dbg::test::message_test
