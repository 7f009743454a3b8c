// What one passage through a stub costs, in one process and without a driver: a function that does nothing, called
// directly and through its stub, with the library off, counting, and at level 3 into a file. Prints one line a case:
//   passage <case> <nanoseconds a call, median of the rounds>
// Not a test: it asserts nothing.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "shim/bind/slots.hpp"
#include "shim/observe/names.hpp"
#include "shim/observe/process.hpp"

namespace {

constexpr int kRounds = 31;
constexpr int kCalls = 20000;

extern "C" __attribute__((noinline)) int do_nothing(void*, void*, void*, void*, double, double) {
    asm volatile("");
    return 0;
}

using Function = int (*)(void*, void*, void*, void*, double, double);

double nanoseconds_a_call(Function function) {
    std::vector<double> rounds;
    for (int round = 0; round < kRounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int call = 0; call < kCalls; ++call) function(nullptr, nullptr, nullptr, nullptr, 1.0, 1.0);
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        rounds.push_back(took.count() / kCalls);
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[kRounds / 2];
}

void* stub_before_nothing(const char* name) {
    aoti_dbg::Slot slot;
    slot.real = reinterpret_cast<void*>(&do_nothing);
    slot.name = aoti_dbg::intern_name(name, {});
    slot.kind = aoti_dbg::ring::CallKind::extern_op;
    return aoti_dbg::stub_for(slot);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "direct";
    aoti_dbg::ensure_process_ready();
    auto function = reinterpret_cast<Function>(
        what == "direct" ? reinterpret_cast<void*>(&do_nothing) : stub_before_nothing("aoti_torch_cpu_nothing"));
    std::printf("passage %s %.1f\n", what.c_str(), nanoseconds_a_call(function));
    std::fflush(stdout);
    _exit(0);
}
