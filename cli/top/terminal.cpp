#include "cli/top/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kUsualColumns = 80;
constexpr std::size_t kUsualRows = 24;

volatile std::sig_atomic_t is_interrupted = 0;

void note_interrupt(int /*signal*/) {
    is_interrupted = 1;
}

winsize size_of_terminal() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
    return size;
}

}  // namespace

LiveTerminal::LiveTerminal() {
    struct sigaction action {};
    action.sa_handler = note_interrupt;  // without SA_RESTART, so that poll() returns
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios own = before_;
    own.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    reads_keys_ = tcsetattr(STDIN_FILENO, TCSANOW, &own) == 0;
}

LiveTerminal::~LiveTerminal() {
    if (reads_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

bool LiveTerminal::is_possible() {
    const char* const terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

std::size_t LiveTerminal::columns() {
    const winsize size = size_of_terminal();
    return size.ws_col == 0 ? kUsualColumns : size.ws_col;
}

std::size_t LiveTerminal::rows() {
    const winsize size = size_of_terminal();
    return size.ws_row == 0 ? kUsualRows : size.ws_row;
}

bool LiveTerminal::waits_to_quit(int milliseconds) {
    pollfd keys{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&keys, reads_keys_ ? 1 : 0, milliseconds);
    if (is_interrupted != 0) return true;
    if (ready <= 0) return false;
    char key = 0;
    const ssize_t got = read(STDIN_FILENO, &key, 1);
    if (got == 0) reads_keys_ = false;
    return got == 1 && (key == 'q' || key == 'Q');
}

}  // namespace aoti_dbg::cli
