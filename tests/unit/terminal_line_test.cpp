// The progress line: nothing waits for a terminal, only a terminal gets the line, and other output finds its
// place empty.
#include "base/terminal_line.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/message.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/in_child.hpp"
#include "tests/unit/at_terminal.hpp"

using namespace aoti_dbg;
using namespace aoti_dbg::test;

namespace {

std::string as_message(const std::string& text) {
    return "aoti-dbg[" + std::to_string(getpid()) + ":" + std::to_string(gettid()) + "] info: " + text;
}

}  // namespace

TEST_CASE("A file, or a terminal that cannot erase, gets no line") {
    const int file = memfd_create("stderr", MFD_CLOEXEC);
    {
        const StandardError error(file);
        setenv("TERM", "xterm", 1);
        CHECK_FALSE(open_terminal_line());
        show_terminal_line("saving");
    }
    CHECK(lseek(file, 0, SEEK_END) == 0);
    close(file);
    for (const char* kind : {"dumb", "", static_cast<const char*>(nullptr)}) {
        AtTerminal at;
        unsetenv("TERM");
        if (kind != nullptr) setenv("TERM", kind, 1);
        CHECK_FALSE(open_terminal_line());
        show_terminal_line("saving");
        CHECK(at.shown().empty());
    }
}

TEST_CASE("A program that replaces its terminal by a file finds nothing of the line in it") {
    AtTerminal at;
    REQUIRE(open_terminal_line());
    show_terminal_line("saving");
    const int file = memfd_create("stderr", MFD_CLOEXEC);
    {
        const StandardError error(file);
        show_terminal_line("saving more");
        hide_terminal_line();
        message(Severity::info, "said");
    }
    std::string text(1000, '\0');
    text.resize(static_cast<std::size_t>(pread(file, text.data(), text.size(), 0)));
    close(file);
    CHECK(text == as_message("said\n"));
}

TEST_CASE("A stalled terminal blocks nothing") {
    AtTerminal at;
    REQUIRE(open_terminal_line());
    show_terminal_line("first");
    REQUIRE(at.screen() == Lines{"first"});
    REQUIRE(tcflow(at.program(), TCOOFF) == 0);
    show_terminal_line("second");
    hide_terminal_line();
    REQUIRE(tcflow(at.program(), TCOON) == 0);
    CHECK(at.screen() == Lines{"first"});
    show_terminal_line("third");
    CHECK(at.screen() == Lines{"third"});
}

TEST_CASE("In the background, where a shell has its prompt, nothing is shown and nothing erased") {
    Terminal terminal;
    const int status = in_child([&terminal] {
        setenv("TERM", "xterm", 1);
        setsid();
        // The first terminal that a session leader opens becomes its controlling terminal.
        dup2(open(terminal.name().c_str(), O_RDWR | O_CLOEXEC), STDERR_FILENO);
        if (!open_terminal_line()) ::_exit(1);
        show_terminal_line("in the foreground");
        const int behind = in_child([] {
            setpgid(0, 0);
            show_terminal_line("in the background");
            hide_terminal_line();
        });
        if (behind != 0) ::_exit(2);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    while (terminal.read_more(0)) {
    }
    CHECK(terminal.screen() == Lines{"in the foreground"});
}

TEST_CASE("A forked child prints at once, over its parent's line, even in the middle of a redraw") {
    AtTerminal at(200);
    REQUIRE(open_terminal_line());
    show_terminal_line("saving");
    int status = 0;
    {
        const TerminalLineAway held(STDERR_FILENO);
        show_terminal_line("not while others print");
        // The child inherits its parent's lock, which is never released there.
        status = in_child([] {
            message(Severity::info, "said by the child");
            show_terminal_line("the child's");
        });
    }
    CHECK(WIFEXITED(status));
    const Lines screen = at.screen();
    REQUIRE(screen.size() == 2);
    CHECK(screen[0].rfind("aoti-dbg[", 0) == 0);
    CHECK(screen[1] == "the child's");
}

TEST_CASE("The line is at most as wide as the terminal, and never wraps") {
    const unsigned short columns = GENERATE(as<unsigned short>(), 1, 2, 20, 100, 0, 1000);
    const std::size_t taken = columns == 0 ? 79 : std::min<std::size_t>(columns - 1U, 256);
    AtTerminal at(columns);
    REQUIRE(open_terminal_line());
    for (const char letter : {'a', 'b'}) {
        show_terminal_line(std::string(2000, letter));
        CHECK(at.screen() == Lines{std::string(taken, letter)});
    }
}

TEST_CASE("A shorter line leaves nothing of a longer one, and a closed one nothing at all") {
    AtTerminal at;
    REQUIRE(open_terminal_line());
    show_terminal_line("a long line");
    show_terminal_line("short");
    CHECK(at.screen() == Lines{"short"});
    close_terminal_line();
    CHECK(at.screen() == Lines{""});
    show_terminal_line("too late");
    CHECK(at.screen() == Lines{""});
}

TEST_CASE("A message replaces the line, and errno is kept") {
    AtTerminal at(120);
    REQUIRE(open_terminal_line());
    errno = 77;
    show_terminal_line("a line that is longer than the message, by far: " + std::string(60, '.'));
    message(Severity::info, "said");
    show_terminal_line("next");
    CHECK(errno == 77);
    CHECK(at.screen() == Lines{as_message("said"), "next"});
}

TEST_CASE("Messages of many threads and a constantly changing line leave each other whole") {
    AtTerminal at(120);
    REQUIRE(open_terminal_line());
    constexpr int kThreads = 4;
    constexpr int kMessages = 100;
    std::atomic<bool> is_over{false};
    std::thread shows([&] {
        while (!is_over)
            show_terminal_line("saving ........");
    });
    std::vector<std::thread> speak;
    speak.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
        speak.emplace_back([] {
            for (int said = 0; said < kMessages; ++said)
                message(Severity::info, "said");
        });
    }
    std::thread reads([&] {
        while (!is_over)
            at.terminal.read_more(10);
    });
    for (std::thread& thread : speak)
        thread.join();
    is_over = true;
    shows.join();
    reads.join();
    close_terminal_line();
    const Lines screen = at.screen();
    CHECK(screen.size() == kThreads * kMessages + 1);
    for (std::size_t i = 0; i + 1 < screen.size(); ++i) {
        CAPTURE(i);
        CHECK(screen[i].rfind("aoti-dbg[", 0) == 0);
        CHECK(screen[i].find(" info: said") == screen[i].size() - 11);
    }
    CHECK(screen.back().empty());
}
