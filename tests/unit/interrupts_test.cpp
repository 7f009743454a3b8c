// SIGINT while it is counted: afterwards everything about it is as before, whatever that was.
#include "shim/runtime/interrupts.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/in_child.hpp"

namespace aoti_dbg::test::interrupts_test {
namespace {

volatile std::sig_atomic_t g_handled = 0;

void handle(int /*signal*/) {
    g_handled = g_handled + 1;
}

void other_handler(int /*signal*/) {}

struct sigaction present() {
    struct sigaction action {};
    sigaction(SIGINT, nullptr, &action);
    return action;
}

sigset_t interrupt_alone() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    return set;
}

bool is_blocked() {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, SIGINT) == 1;
}

bool is_pending() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGINT) == 1;
}

/// Sets the program's own disposition and mask for its lifetime.
class Program {
  public:
    explicit Program(void (*handler)(int), bool blocks = false) {
        g_handled = 0;
        struct sigaction action {};
        action.sa_handler = handler;
        action.sa_flags = SA_NODEFER;
        sigemptyset(&action.sa_mask);
        sigaddset(&action.sa_mask, SIGUSR2);
        sigaction(SIGINT, &action, &before_);
        const sigset_t interrupt = interrupt_alone();
        if (blocks) pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
    }
    ~Program() {
        const sigset_t interrupt = interrupt_alone();
        const timespec no_wait{};
        if (is_pending()) sigtimedwait(&interrupt, nullptr, &no_wait);
        pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
        sigaction(SIGINT, &before_, nullptr);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

  private:
    struct sigaction before_ {};
};

}  // namespace

TEST_CASE("An ignored signal stays ignored, as under nohup") {
    const Program program(SIG_IGN);
    const Interrupts interrupts;
    CHECK_FALSE(interrupts.are_counted());
    CHECK(present().sa_handler == SIG_IGN);
    raise(SIGINT);
    CHECK(interrupts.count() == 0);
}

TEST_CASE("The program's handler gets nothing meanwhile, and returns afterwards with flags and mask") {
    const Program program(handle);
    {
        const Interrupts interrupts;
        REQUIRE(interrupts.are_counted());
        errno = 77;
        raise(SIGINT);
        raise(SIGINT);
        CHECK(errno == 77);
        CHECK(interrupts.count() == 2);
        CHECK(g_handled == 0);
    }
    CHECK(present().sa_handler == handle);
    CHECK((present().sa_flags & SA_NODEFER) != 0);
    CHECK((present().sa_flags & (SA_RESTART | SA_ONSTACK)) == 0);
    const struct sigaction action = present();
    CHECK(sigismember(&action.sa_mask, SIGUSR2) == 1);
    raise(SIGINT);
    CHECK(g_handled == 1);
}

TEST_CASE("Without a handler, the signal ends the process again afterwards, and not before") {
    const int status = in_child([] {
        signal(SIGINT, SIG_DFL);
        {
            const Interrupts interrupts;
            raise(SIGINT);
            if (interrupts.count() != 1) ::_exit(1);
        }
        raise(SIGINT);
        ::_exit(2);
    });
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGINT);
}

TEST_CASE("A thread that blocks the signal, perhaps in a handler, receives it too and blocks it afterwards") {
    const Program program(handle, true);
    {
        const Interrupts interrupts;
        kill(getpid(), SIGINT);
        CHECK(interrupts.count() == 1);
    }
    CHECK(is_blocked());
    CHECK_FALSE(is_pending());
    CHECK(g_handled == 0);
}

TEST_CASE("A pending signal is not counted, and stays pending") {
    const Program program(handle, true);
    raise(SIGINT);
    {
        const Interrupts interrupts;
        CHECK(interrupts.count() == 0);
        raise(SIGINT);
        CHECK(interrupts.count() == 1);
    }
    CHECK(is_pending());
    CHECK(g_handled == 0);
}

TEST_CASE("A handler that the program installs meanwhile stays installed") {
    const Program program(handle);
    {
        const Interrupts interrupts;
        signal(SIGINT, other_handler);
    }
    CHECK(present().sa_handler == other_handler);
}

TEST_CASE("A forked child gets the signal as the program would have got it") {
    const Program program(handle);
    const Interrupts interrupts;
    const int status = in_child([] {
        raise(SIGINT);
        if (g_handled != 1) ::_exit(1);
        if (present().sa_handler != handle) ::_exit(2);
        raise(SIGINT);
        if (g_handled != 2) ::_exit(3);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(interrupts.count() == 0);
    CHECK(g_handled == 0);
}

TEST_CASE("Any thread of the program may receive the signal") {
    const Program program(handle);
    const Interrupts interrupts;
    std::thread([] { raise(SIGINT); }).join();
    CHECK(interrupts.count() == 1);
    CHECK(g_handled == 0);
}

TEST_CASE("Counting starts from zero each time") {
    const Program program(handle);
    for (int i = 0; i < 2; ++i) {
        const Interrupts interrupts;
        CHECK(interrupts.count() == 0);
        raise(SIGINT);
        CHECK(interrupts.count() == 1);
    }
}

}  // namespace aoti_dbg::test::interrupts_test
