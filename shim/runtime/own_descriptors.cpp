#include "shim/runtime/own_descriptors.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <vector>

namespace aoti_dbg {
namespace {

#if !defined(SYS_close_range)
constexpr long SYS_close_range = 436;  // the same number on every architecture
#endif

/// Closes all descriptors of the calling thread's table. Call it only after the thread has a table of its
/// own.
void close_all() {
    std::vector<int> numbers;
    DIR* const all = opendir("/proc/thread-self/fd");
    if (all == nullptr) return;
    while (const dirent* entry = readdir(all)) {
        if (entry->d_name[0] != '.') numbers.push_back(static_cast<int>(strtol(entry->d_name, nullptr, 10)));
    }
    closedir(all);
    for (const int number : numbers)
        close(number);
}

}  // namespace

bool take_own_descriptors() {
    constexpr unsigned kUnshare = 2;  // CLOSE_RANGE_UNSHARE: copies no descriptor that it would close
    if (syscall(SYS_close_range, 0U, UINT_MAX, kUnshare) != 0) {
        if (unshare(CLONE_FILES) != 0) return false;
        close_all();
    }
    // Descriptors 0 to 2 stay taken. Code that prints to standard error must not write into a file of ours.
    // An O_PATH descriptor can be neither read nor written.
    while (true) {
        const int number = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (number < 0) break;
        if (number <= STDERR_FILENO) continue;
        close(number);
        break;
    }
    return true;
}

}  // namespace aoti_dbg
