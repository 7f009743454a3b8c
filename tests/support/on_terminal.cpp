#include "tests/support/on_terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace aoti_dbg::test {
namespace {

constexpr std::chrono::seconds kLong{60};

}  // namespace

Terminal::Terminal(unsigned short columns)
    : number_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), columns_(columns == 0 ? 80 : columns) {
    std::array<char, 128> name{};
    if (number_ < 0 || grantpt(number_) != 0 || unlockpt(number_) != 0 ||
        ptsname_r(number_, name.data(), name.size()) != 0)
        throw std::runtime_error("no terminal can be made");
    name_ = name.data();
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    ioctl(number_, TIOCSWINSZ, &size);
}

Terminal::~Terminal() {
    close(number_);
}

void Terminal::type(const std::string& keys) const {
    if (write(number_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
        throw std::runtime_error("the terminal takes no keys");
}

bool Terminal::read_more(int milliseconds) {
    pollfd terminal{number_, POLLIN, 0};
    if (poll(&terminal, 1, milliseconds) != 1 || (terminal.revents & POLLIN) == 0) return false;
    std::array<char, 4096> piece{};
    const ssize_t count = read(number_, piece.data(), piece.size());
    if (count <= 0) return false;
    shown_.append(piece.data(), static_cast<std::size_t>(count));
    return true;
}

std::vector<std::string> Terminal::screen() const {
    static const std::string kErase = "\x1b[K";
    std::vector<std::string> lines(1);
    std::size_t at = 0;  // column in the last line
    for (std::size_t i = 0; i < shown_.size(); ++i) {
        std::string& line = lines.back();
        if (shown_[i] == '\r') {
            at = 0;
        } else if (shown_[i] == '\n') {
            lines.emplace_back(at, ' ');
        } else if (shown_.compare(i, kErase.size(), kErase) == 0) {
            line.resize(std::min(line.size(), at));
            i += kErase.size() - 1;
        } else {
            if (at == columns_) {
                lines.emplace_back();
                at = 0;
            }
            std::string& its = lines.back();
            its.resize(std::max(its.size(), at + 1), ' ');
            its[at++] = shown_[i];
        }
    }
    return lines;
}

OnTerminal::OnTerminal(const std::vector<std::string>& argv, const Variables& env, const std::string& cwd)
    : out_(memfd_create("captured", MFD_CLOEXEC)) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    // The first terminal that a session leader opens becomes its controlling terminal.
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, terminal_.name().c_str(), O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, out_, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&files, cwd.c_str());
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    std::vector<std::string> arguments = argv;
    std::vector<std::string> entries = environment_with(env);
    const int failed = posix_spawn(&child_, argv.front().c_str(), &files, &attributes,
                                   pointers(arguments).data(), pointers(entries).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::runtime_error("cannot start " + argv.front());
}

OnTerminal::~OnTerminal() {
    if (child_ > 0) {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    close(out_);
}

bool OnTerminal::shows(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (terminal_.shown().find(text) == std::string::npos) {
        siginfo_t info{};
        const bool has_ended =
            waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
            info.si_pid != 0;
        if (terminal_.read_more(50)) continue;
        if (has_ended || std::chrono::steady_clock::now() > end) return false;
    }
    return true;
}

Outcome OnTerminal::end() {
    Outcome outcome;
    const auto end = std::chrono::steady_clock::now() + kLong;
    int status = 0;
    while (waitpid(child_, &status, WNOHANG) == 0) {
        terminal_.read_more(20);
        if (outcome.timed_out || std::chrono::steady_clock::now() < end) continue;
        outcome.timed_out = true;
        kill(child_, SIGKILL);
    }
    child_ = -1;
    while (terminal_.read_more(0)) {
    }
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    outcome.err = terminal_.shown();
    std::array<char, 65536> piece{};
    ssize_t count = 0;
    while ((count = pread(out_, piece.data(), piece.size(), static_cast<off_t>(outcome.out.size()))) > 0)
        outcome.out.append(piece.data(), static_cast<std::size_t>(count));
    return outcome;
}

}  // namespace aoti_dbg::test
