#include "shim/faults/dump_request.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <forward_list>

#include "base/descriptor.hpp"

namespace aoti_dbg {
namespace {

struct Expected {
    std::string path;
    pid_t process = 0;  // a fork's child has its own pipe
    bool (*be_last)() = nullptr;
};

std::atomic<const Expected*> g_expected{nullptr};  // never freed, because exit reads it

const Expected* expected() {
    const Expected* const found = g_expected.load(std::memory_order_acquire);
    return found != nullptr && found->process == getpid() ? found : nullptr;
}

bool is_pipe(const std::string& path, struct stat& found) {
    return lstat(path.c_str(), &found) == 0 && S_ISFIFO(found.st_mode);
}

std::atomic<const Expected*> g_asked{nullptr};
std::atomic<int> g_contexts_in_the_making{0};

// These belong to the thread that looks for the pipe: the pipe as found, its owner, and the owner of the pipe
// whose name is removed.
struct stat g_pipe {};
const Expected* g_found = nullptr;
const Expected* g_taken = nullptr;

/// Returns the driver's own descriptor, or -1 if the pipe is not open.
int descriptor_of(const struct stat& pipe) {
    DIR* const open_ones = opendir("/proc/self/fd");
    if (open_ones == nullptr) return -1;
    int found = -1;
    while (const dirent* const entry = found < 0 ? readdir(open_ones) : nullptr) {
        char* end = nullptr;
        const auto number = static_cast<int>(strtol(entry->d_name, &end, 10));
        struct stat one {};
        if (end == entry->d_name || number == dirfd(open_ones) || fstat(number, &one) != 0) continue;
        if (S_ISFIFO(one.st_mode) && one.st_dev == pipe.st_dev && one.st_ino == pipe.st_ino) found = number;
    }
    closedir(open_ones);
    return found;
}

}  // namespace

void expect_dump_pipe(const std::string& path, bool (*be_last)()) {
    struct stat left {};
    if (is_pipe(path, left)) unlink(path.c_str());
    static auto* const all = new std::forward_list<Expected>;
    all->push_front({path, getpid(), be_last});
    g_expected.store(&all->front(), std::memory_order_release);
}

void forget_dump_pipe() {
    g_expected.store(nullptr, std::memory_order_release);
}

ContextInTheMaking::ContextInTheMaking() {
    g_contexts_in_the_making.fetch_add(1);
}

ContextInTheMaking::~ContextInTheMaking() {
    g_contexts_in_the_making.fetch_sub(1);
}

void take_dump_pipe() {
    const Expected* const requested = expected();
    if (requested == nullptr || requested == g_taken || !is_pipe(requested->path, g_pipe)) return;
    g_found = requested;
    if (descriptor_of(g_pipe) < 0 || g_contexts_in_the_making.load() != 0) return;
    // The counter now shows any creation that began before be_last(). A later one opens no pipe.
    if (!requested->be_last() || g_contexts_in_the_making.load() != 0) return;
    unlink(requested->path.c_str());
    g_taken = requested;
}

bool can_ask_for_dump() {
    take_dump_pipe();
    const Expected* const requested = expected();
    return requested != nullptr && g_found == requested && !has_asked_for_dump() &&
           descriptor_of(g_pipe) >= 0;
}

bool ask_for_dump() {
    const std::string end = "/proc/self/fd/" + std::to_string(descriptor_of(g_pipe));
    const Descriptor pipe(open(end.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    g_asked.store(g_found, std::memory_order_release);
    // Threads of the library block SIGPIPE.
    return pipe.number() >= 0 && write(pipe.number(), "1", 1) == 1;
}

bool has_asked_for_dump() {
    const Expected* const requested = expected();
    return requested != nullptr && g_asked.load(std::memory_order_acquire) == requested;
}

void remove_dump_pipe() {
    struct stat left {};
    const Expected* const requested = expected();
    if (requested != nullptr && is_pipe(requested->path, left)) unlink(requested->path.c_str());
}

}  // namespace aoti_dbg
