// signal_user HOW MODEL: runs the model once and then gets a fatal signal in the way that HOW says.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/victims/model_user.hpp"

// HOW is one of
//   before, after        its own handler, set before or after the run, prints the fault and exits with 4
//   chained              its own handler restores the previous one, and the bad store repeats
//   ignored              a signal that it ignores, and it exits with 0
//   abort, store, sent   no handler: abort(), a bad store, a signal that it sends to itself
//   killed               SIGKILL, outside of any call
//   child, child_runs    a forked child makes a bad store, at once or after its own run
//   vforked              a vforked child raises SIGSEGV
//   exec                 replaces itself by a program that kills itself
namespace {

constexpr std::uintptr_t kNowhere = 16;

struct sigaction g_found {};

void store() {
    auto* volatile nowhere = reinterpret_cast<volatile int*>(kNowhere);
    *nowhere = 1;
}

void say(const char* what) {
    if (write(STDOUT_FILENO, what, std::strlen(what)) < 0) _exit(97);
}

void on_fault(int /*signal*/, siginfo_t* info, void* /*context*/) {
    say(info->si_addr == reinterpret_cast<void*>(kNowhere) && info->si_code == SEGV_MAPERR ? "my fault\n"
                                                                                           : "another\n");
    _exit(4);
}

void on_fault_once(int signal, siginfo_t* /*info*/, void* /*context*/) {
    say("mine first\n");
    sigaction(signal, &g_found, nullptr);
}

void handle(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction mine {};
    mine.sa_sigaction = handler;
    mine.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &mine, &g_found);
}

void say_end_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child: %d\n", status & 0x7f);
}

void die_in_child(const victim::Model& model, bool runs) {
    const pid_t child = fork();
    if (child == 0) {
        if (runs && model.run().code != 0) _exit(98);
        store();
        _exit(0);
    }
    say_end_of(child);
}

void die_in_vforked() {
    const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): under test
    if (child == 0) {
        raise(SIGSEGV);
        _exit(0);
    }
    say_end_of(child);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const char* const how = argv[1];
    const auto is = [how](const char* what) { return std::strcmp(how, what) == 0; };
    if (is("before")) handle(on_fault);
    if (is("ignored")) std::signal(SIGFPE, SIG_IGN);
    const victim::Torch torch;
    const victim::Model model(torch, argv[2]);
    victim::print("run", model.run());
    std::fflush(stdout);
    if (is("after")) handle(on_fault);
    if (is("chained")) handle(on_fault_once);
    if (is("ignored")) raise(SIGFPE);
    if (is("abort")) std::abort();
    if (is("killed")) raise(SIGKILL);
    if (is("sent")) sigqueue(getpid(), SIGBUS, sigval{});
    if (is("child") || is("child_runs")) die_in_child(model, is("child_runs"));
    if (is("vforked")) die_in_vforked();
    if (is("exec")) execl("/bin/sh", "sh", "-c", "kill -SEGV $$", static_cast<char*>(nullptr));
    if (is("before") || is("after") || is("chained") || is("store")) store();
    victim::print("run", model.run());
    return 0;
}
