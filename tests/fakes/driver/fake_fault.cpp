// The consequences of a kernel fault. Without a core dump or further settings, the error sticks at once.
// FAKE_CUDA_FAULT_WINDOW imitates driver 580 on an H200: the device stalls, then the driver is notified and
// waiting calls return success. Meanwhile a thread loads the debugger, writes the dump and makes the error
// stick, or aborts. With FAKE_CUDA_NO_STANDSTILL, nothing waits.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

using std::chrono::milliseconds;

// Measured: 27 to 40 ms.
constexpr milliseconds kStall{30};
// Applies if nothing waits. Measured: 0.7 to 35 ms after the driver is notified of the fault.
constexpr milliseconds kUntilDebugger{10};

milliseconds window() {
    static const milliseconds value = [] {
        const char* text = std::getenv("FAKE_CUDA_FAULT_WINDOW");
        return milliseconds(text == nullptr ? 0 : std::strtol(text, nullptr, 10));
    }();
    return value;
}

bool is_stalled() {
    static const bool value = std::getenv("FAKE_CUDA_NO_STANDSTILL") == nullptr;
    return value;
}

/// FAKE_CUDA_EARLY_ERROR: the error sticks before the dump is written. If the program exits meanwhile, there
/// is no dump.
bool errs_early() {
    static const bool value = std::getenv("FAKE_CUDA_EARLY_ERROR") != nullptr;
    return value;
}

/// The debugger library is beside the driver.
void* load_debugger() {
    Dl_info driver{};
    if (dladdr(reinterpret_cast<const void*>(&fault), &driver) == 0) return nullptr;
    std::string path = driver.dli_fname;
    path.resize(path.rfind('/') + 1);
    return dlopen((path + "libcudadebugger.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
}

bool has_ended(void* debugger) {
    auto* const asked = debugger == nullptr
                            ? nullptr
                            : reinterpret_cast<int (*)()>(dlsym(debugger, "fake_debugger_has_ended"));
    return asked == nullptr || asked() != 0;
}

/// FAKE_CUDA_GATHER: takes as long as on a device that runs more than one kernel of one block.
void gather() {
    static const milliseconds time = [] {
        const char* text = std::getenv("FAKE_CUDA_GATHER");
        return milliseconds(text == nullptr ? 0 : std::strtol(text, nullptr, 10));
    }();
    if (time.count() == 0) return;
    // The debugger's threads inherit the name of the thread that creates them.
    pthread_setname_np(pthread_self(), "cuda-EvtHandlr");
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
    }
}

/// FAKE_CUDA_DEBUGGER_CRASHES: the debugger crashes while it gathers, before it writes anything.
void crash_if_asked() {
    if (std::getenv("FAKE_CUDA_DEBUGGER_CRASHES") == nullptr) return;
    sigset_t fault;
    sigemptyset(&fault);
    sigaddset(&fault, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &fault, nullptr);
    ::raise(SIGSEGV);
}

struct Faulted {
    Context* context;
    std::uint64_t id;  // the context's id, because its place may be reused by then
    Launched launched;
};

void record(const Faulted& what, std::promise<void> is_loaded) {
    if (!is_stalled()) std::this_thread::sleep_for(kUntilDebugger);
    void* const debugger = load_debugger();
    const auto stick = [&what] {
        if (what.context->id == what.id)
            what.context->sticky.store(CUDA_ERROR_ILLEGAL_ADDRESS, std::memory_order_release);
    };
    if (errs_early()) stick();
    is_loaded.set_value();
    std::this_thread::sleep_for(window() / 2);
    gather();
    crash_if_asked();
    if (errs_early() && has_ended(debugger)) return;
    write_core_dump(what.launched);
    std::this_thread::sleep_for(window() / 2);
    if (core_dump_aborts()) std::abort();
    stick();
}

/// FAKE_CUDA_LOST_FAULT: a fault that the driver misses. The device stalls and nothing follows.
struct Lost {
    std::mutex mutex;
    std::optional<Faulted> fault;
};

Lost& lost() {
    static auto* const instance = new Lost;
    return *instance;
}

void lose(Context* context, const Launched& launched) {
    std::unique_lock lock(lost().mutex);
    lost().fault = Faulted{context, context->id, launched};
    context->is_stalled = true;
    lock.unlock();
    wait_for_device(context);
}

}  // namespace

void record_on_request(const Launched& running) {
    load_debugger();
    std::unique_lock lock(lost().mutex);
    const std::optional<Faulted> fault = lost().fault;
    lock.unlock();
    gather();
    crash_if_asked();
    if (fault) {
        write_core_dump(fault->launched);
    } else {
        write_running(running);
    }
    if (core_dump_aborts()) std::abort();
    pools().contexts.for_each_alive([&fault](Context* context) {
        const bool is_at_fault = fault && context == fault->context;
        context->sticky.store(is_at_fault ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_FAILED,
                              std::memory_order_release);
        context->is_stalled = false;
        context->is_stalled.notify_all();
        abandon_streams_of(context);
    });
}

void fault(Context* context, const std::string& kernel, std::uint64_t grid) {
    if (std::getenv("FAKE_CUDA_NAME_FAULT") != nullptr)
        std::fprintf(stderr, "fake_cuda: %s has faulted\n", kernel.c_str());
    static const bool is_lost = std::getenv("FAKE_CUDA_LOST_FAULT") != nullptr;
    const Launched launched{kernel, grid, context};
    if (is_lost && core_dump_is_armed()) return lose(context, launched);
    if (window().count() == 0 || !core_dump_is_armed()) {
        write_core_dump(launched);
        context->sticky.store(CUDA_ERROR_ILLEGAL_ADDRESS, std::memory_order_release);
        return;
    }
    if (context->has_faulted.exchange(true)) return;
    if (is_stalled()) {
        context->is_stalled = true;
        std::this_thread::sleep_for(kStall);
    }
    wake_event_handler();
    std::promise<void> is_loaded;
    const std::future<void> loaded = is_loaded.get_future();
    // The thread must not take signals meant for the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(record, Faulted{context, context->id, launched}, std::move(is_loaded)).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!is_stalled()) return;
    // The real driver loads it up to 0.7 ms later. The library checks for it for 1 ms, which a busy machine
    // may exceed.
    loaded.wait();
    while (core_dump_aborts())
        pause();
    context->is_stalled = false;
    context->is_stalled.notify_all();
}

void prepare_for_faults() {
    if (window().count() != 0) start_event_handler();
}

void wait_for_device(const Context* context) {
    context->is_stalled.wait(true);
}

}  // namespace fake_cuda
