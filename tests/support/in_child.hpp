// Runs tests in a child that end a process or change its limits.
#pragma once

#include <dirent.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace aoti_dbg::test {

/// Runs `work` in a child and returns its wait status.
template <typename Work>
int in_child(Work work) {
    const pid_t child = fork();
    if (child == 0) {
        work();
        ::_exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/// True if no other thread of the process runs or could run now.
inline bool other_threads_sleep() {
    bool sleep = true;
    DIR* const threads = ::opendir("/proc/self/task");
    if (threads == nullptr) return false;
    while (const dirent* const entry = ::readdir(threads)) {
        const long thread = std::strtol(entry->d_name, nullptr, 10);
        if (thread == 0 || thread == ::syscall(SYS_gettid)) continue;
        std::ifstream file("/proc/self/task/" + std::string(entry->d_name) + "/stat");
        std::string line;
        // The state follows the name, which ends with the last parenthesis. A thread that is gone has no
        // line.
        if (!std::getline(file, line)) continue;
        const std::size_t name_end = line.rfind(')');
        if (name_end == std::string::npos || line.compare(name_end, 3, ") S") != 0) sleep = false;
    }
    ::closedir(threads);
    return sleep;
}

}  // namespace aoti_dbg::test
