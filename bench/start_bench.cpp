// Measures how long a program takes that does nothing, from its start to its end. With LD_PRELOAD set, the
// difference is what the library costs every process, also one that has no model.
//   start_bench ROUNDS
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "bench/timing.hpp"

namespace {

constexpr int kStarts = 50;  // per round

bool start_and_wait() {
    char name[] = "/bin/true";
    char* arguments[] = {name, nullptr};
    pid_t child = 0;
    int status = 0;
    return posix_spawn(&child, name, nullptr, nullptr, arguments, environ) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    bool all_ended = true;
    bench::report(bench::median_of_rounds(std::atoi(argv[1]), kStarts, [&all_ended] {
        for (int start = 0; start < kStarts; ++start)
            all_ended = start_and_wait() && all_ended;
    }));
    return all_ended ? 0 : 1;
}
