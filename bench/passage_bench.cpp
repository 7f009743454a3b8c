// Measures one call through a stub in one process, without a driver: an empty function, called directly or
// through its stub. Environment variables configure the library. It asserts nothing.
//   passage_bench direct|stub ROUNDS [CALLS]
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "bench/timing.hpp"
#include "shim/library/process_end.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"

namespace {

constexpr int kCalls = 20000;  // per round by default, about 2 MB of lines at level 3

extern "C" __attribute__((noinline)) int do_nothing(void*, void*, void*, void*, double, double) {
    asm volatile("");
    return 0;
}

using Function = int (*)(void*, void*, void*, void*, double, double);

void* stub_before_nothing() {
    aoti_dbg::Slot slot;
    slot.real = reinterpret_cast<void*>(&do_nothing);
    slot.name = aoti_dbg::intern_name("aoti_torch_cpu_nothing", {});
    slot.kind = aoti_dbg::ring::CallKind::extern_op;
    return aoti_dbg::stub_for(slot);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) return 2;
    const int calls = argc == 4 ? std::atoi(argv[3]) : kCalls;
    aoti_dbg::ensure_process_ready();
    void* address = std::strcmp(argv[1], "stub") == 0 ? stub_before_nothing() : nullptr;
    Function volatile function = address != nullptr ? reinterpret_cast<Function>(address) : &do_nothing;
    bench::report(bench::median_of_rounds(std::atoi(argv[2]), calls, [&] {
        for (int call = 0; call < calls; ++call)
            function(nullptr, nullptr, nullptr, nullptr, 1.0, 1.0);
    }));
    aoti_dbg::end_process();
    _exit(0);
}
