// A software CUDA driver: the declarations that its files share. Memory is on the host, a stream is a worker
// thread, and a kernel is a host function that a text file names. It behaves like the real driver wherever
// programs can observe it: order, asynchronous errors, reused handles, capture. It must be free of data
// races, must not print, and must not need a GPU. Types and names come from cuda.h without its renaming
// macros, so the compiler checks every definition against NVIDIA's declaration.
#pragma once

// These environment variables control the driver:
//   CUDA_LAUNCH_BLOCKING=1          the real driver's: a launch waits for its kernel
//   FAKE_CUDA_INLINE=1              run kernels in the launching thread
//   FAKE_CUDA_DEVICES=N             the number of devices
//   FAKE_CUDA_MEMORY=N              bytes of memory, instead of 8 GiB
//   FAKE_CUDA_DELAY_US=N            delay each kernel
//   FAKE_CUDA_FAIL_AT=N             kernel number N of the process faults (error 700, sticky in its context)
//   FAKE_CUDA_REFUSE=KERNEL         its launches fail with error 701
//   FAKE_CUDA_NO_FATBIN=1           reject fatbins, like a device too old for them
//   FAKE_CUDA_NO_STREAM_VALUES=1    stream memory operations fail with error 801
//   FAKE_CUDA_DIE_AT=N              end the process inside launch N
//   FAKE_CUDA_DIE_BY=SIGNAL         the signal for that, or _exit(7) for 0
//   FAKE_CUDA_COUNT=1               print the number of fatbin launches at exit
//   FAKE_CUDA_EXPLAIN=1             print on stderr why a fatbin kernel faulted
//   FAKE_CUDA_NAME_FAULT=1          print which kernel of the program faulted
//   FAKE_CUDA_NO_COREDUMP=1         do not support core dumps
//   FAKE_CUDA_FAULT_WINDOW=MS       delay a fault with a core dump as the real driver does (fake_fault.cpp)
//   FAKE_CUDA_NO_STANDSTILL=1       nothing waits in that window, as for a store whose warp has exited
//   FAKE_CUDA_EARLY_ERROR=1         the error sticks before the dump is written
//   FAKE_CUDA_DEBUGGER_CRASHES=1    the debugger's thread ends the process by SIGSEGV before the dump
//   FAKE_CUDA_LOST_FAULT=1          the driver misses the fault, and only a requested core dump shows it
//   FAKE_CUDA_GATHER=MS             the debugger is busy for this long before it writes
//   FAKE_CUDA_STANDING_KERNEL=NAME  the kernel that runs meanwhile; without a name, none
//   FAKE_CUDA_FAULT_KIND=KIND       the dump shows: store (its warp has exited), late_store (it hit a warp of
//                                   the next kernel) or trap

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "tests/fakes/driver/fake_pool.hpp"
#include "tests/fakes/driver/fake_queue.hpp"

// Older toolkits declare none of these.
#if CUDA_VERSION < 12090
enum CUlogLevel : unsigned { CU_LOG_LEVEL_ERROR, CU_LOG_LEVEL_WARNING };
using CUlogsCallbackHandle = struct CUlogsCallbackEntry_st*;
using CUlogsCallback = void(CUDA_CB*)(void* data, CUlogLevel level, char* message, std::size_t length);
extern "C" CUresult cuLogsRegisterCallback(CUlogsCallback callback, void* data, CUlogsCallbackHandle* handle);
extern "C" CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle);
#endif

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

constexpr int kDriverVersion = 13000;

struct Capture;

struct Stream {
    std::atomic<bool> alive{false};
    Context* context = nullptr;
    std::shared_ptr<Queue> queue;
    bool blocking = true;  // synchronizes with the legacy stream
    unsigned int flags = 0;
    int priority = 0;
    std::uint64_t id = 0;              // never reused
    std::shared_ptr<Capture> capture;  // under capture_mutex()
    std::atomic<bool> captures{false};
};

struct Context {
    std::atomic<bool> alive{false};
    std::atomic<int> sticky{0};            // CUDA_ERROR_ILLEGAL_ADDRESS once a kernel faulted
    std::atomic<bool> has_faulted{false};  // and is being recorded
    std::atomic<bool> is_stalled{false};
    std::atomic<std::uint64_t> grids{0};  // numbers assigned to kernels
    int device = 0;
    unsigned int flags = 0;
    unsigned int api_version = 0;
    std::atomic<std::uint64_t> id{0};
    Stream* legacy = nullptr;
    std::atomic<int> blocking_streams{0};
};

struct Event {
    std::atomic<bool> alive{false};
    Context* context = nullptr;
    unsigned int flags = 0;
    std::mutex mutex;
    std::shared_ptr<Queue> queue;  // nullptr if never recorded
    std::uint64_t ticket = 0;
    std::uint64_t recorded_ns = 0;
    std::shared_ptr<Capture> capture;
};

struct KernelImage;

struct Module {
    std::atomic<bool> alive{false};
    Context* context = nullptr;
    std::shared_ptr<const std::vector<KernelImage>> image;
    std::vector<struct Function*> functions;  // under modules_mutex()
    bool of_library = false;
};

struct Library {
    std::atomic<bool> alive{false};
    std::shared_ptr<const std::vector<KernelImage>> image;
    std::vector<struct Kernel*> kernels;  // under modules_mutex()
    std::vector<struct Module*> modules;  // one per context, created on demand
};

/// The part of functions and kernels that a launch needs.
struct Launchable {
    const KernelImage* image = nullptr;
    std::shared_ptr<const std::vector<KernelImage>> keeps_alive;
    std::atomic<unsigned int> dynamic_shared{48 * 1024};
};

struct Function : Launchable {
    std::atomic<bool> alive{false};
    Module* module = nullptr;
};

struct Kernel : Launchable {
    std::atomic<bool> alive{false};
    Library* library = nullptr;
};

// The pools are never destroyed, because workers may still run when the process exits.
struct Pools {
    Pool<Context, 64> contexts;
    Pool<Stream, 4096> streams;
    Pool<Event, 4096> events;
    Pool<Module, 2048> modules;
    Pool<Library, 512> libraries;
    Pool<Function, 8192> functions;
    Pool<Kernel, 2048> kernels;
};
Pools& pools();
std::mutex& modules_mutex();

// ---- state of the process and of the thread (fake_context.cpp) ----

/// The first check of every call: fails in a forked child and before cuInit.
CUresult enter();
/// Also requires a live current context without a sticky error, and returns it through `context`.
CUresult enter(Context*& context);
bool is_initialised();
int device_count();
Context* current_context();

// ---- the driver's log (fake_log.cpp) ----

/// Logs why the call with that name fails, and returns `result`. Ends the process by SIGABRT if a callback
/// calls the driver.
CUresult failed(CUresult result, const char* call, const std::string& why);
/// Called by every call. The real driver holds locks around its callbacks.
void expect_no_callback();

// ---- core dumps (fake_coredump.cpp) ----

/// A launched kernel. An empty name means none.
struct Launched {
    std::string kernel;
    std::uint64_t grid = 0;  // its number in its context
    const Context* context = nullptr;
};

/// Announces a new context. After the first one, core dumps can no longer be enabled. Returns false, which
/// must fail the context, if the request pipe that the first context created no longer exists.
bool note_context(std::uint64_t id);
/// Announces the end of a context. When all contexts that opened the pipe have ended, nothing reads it.
void note_end_of_context(std::uint64_t id);
bool core_dump_is_armed();
/// Whether the process must end by SIGABRT after the dump.
bool core_dump_aborts();
/// Writes the dump of a faulting kernel if it was enabled.
void write_core_dump(const Launched& launched);
/// Writes the dump of a running kernel.
void write_running(const Launched& launched);
/// Notes the first kernel stalled on a held stream, which a dump on request shows as running.
void note_stalled_kernel(const Launched& launched);

// ---- faults (fake_fault.cpp) ----

/// Breaks the context, now or later. Runs in the thread that runs the kernel.
void fault(Context* context, const std::string& kernel, std::uint64_t grid);
/// Handles a dump request through the pipe: writes what is on the device and fails each context.
void record_on_request(const Launched& running);
/// Called before each kernel.
void wait_for_device(const Context* context);
/// Called with the first context.
void prepare_for_faults();

// ---- what a device reports (fake_event_handler.cpp) ----

/// Returns when the thread sleeps. Called once per process.
void start_event_handler();
/// Returns when the handler has run.
void wake_event_handler();

// ---- streams (fake_stream.cpp) ----

/// Returns the stream that `handle` means in the calling thread, including 0 and the two special values. The
/// _ptsz and _ptds names set `per_thread`.
CUresult find_stream(CUstream handle, bool per_thread, Context* context, Stream*& stream);
void make_legacy_stream(Context* context);
/// Submits work in the order that CUDA guarantees between the legacy stream and the blocking streams.
std::uint64_t submit_in_order(Stream* stream, Queue::Task task);
void synchronize_context(Context* context);
void end_streams_of(Context* context);
void abandon_streams_of(Context* context);
void wait_event(Stream* stream, Event* event);

// ---- capture (fake_capture.cpp) ----

std::mutex& capture_mutex();
/// For a call that is unsafe during capture: invalidates the conflicting captures and returns the error for
/// the call, or CUDA_SUCCESS if it is allowed.
CUresult unsafe_during_capture();
/// For work on the legacy stream, which would wait for capturing streams.
CUresult implicit_during_capture(Stream* stream);
/// Adds a task to the stream's capture. Requires stream->captures.
CUresult capture_task(Stream* stream, std::function<void()> task);
/// A captured kernel gets its number when the graph is instantiated.
CUresult capture_kernel(Stream* stream, std::function<void(std::uint64_t grid)> kernel);
void forget_capture_of(Stream* stream);

// ---- memory (fake_memory.cpp) ----

void free_memory_of(Context* context);
/// Whether all of [address, address + bytes) is in one live allocation, mapping or registered range, so that
/// a kernel may access it without a fault.
bool is_known(std::uint64_t address, std::size_t bytes);
/// Returns null for host memory.
Context* context_of_memory(std::uint64_t address);
/// A kernel holds this shared from its checks to its end, and a free holds it exclusively, so checked memory
/// stays live.
std::shared_mutex& frees_mutex();
enum class Kind { device, host, registered, mapped };
CUresult allocate(std::uintptr_t& address, std::size_t bytes, Kind kind, Context* context);
/// Frees allocated memory, and forgets memory that was only made known.
CUresult release(std::uintptr_t address, Kind kind);
/// Registers memory with another owner. Returns false if part of it is already known.
bool make_known(std::uintptr_t address, std::size_t bytes, Kind kind, Context* context);
bool is_pool(CUmemoryPool pool);
/// Reserves memory without an address. Returns false if not enough is left.
bool charge(std::size_t bytes);
void credit(std::size_t bytes);

// ---- copies and sets (fake_copy.cpp) ----

/// The kernel with which the driver sets or copies, numbered like any other. It runs in the stream's context,
/// or in the memory's if that is on another device.
struct DriverKernel {
    bool is_there = false;
    Context* memory = nullptr;
};
/// Moves or sets bytes on a stream. With `wait`, the work completes before the call returns.
CUresult enqueue(CUstream handle, bool per_thread, bool wait, std::function<void()> work,
                 const DriverKernel& kernel = {});

// ---- modules (fake_module.cpp, fake_kernels.cpp) ----

void unload_modules_of(Context* context);

struct KernelImage {
    std::string name;
    HostKernel kernel = nullptr;
    std::vector<std::uint32_t> offsets;  // one per parameter
    std::vector<std::uint32_t> sizes;
    std::uint32_t bytes = 0;
    bool is_nop = false;
    bool of_fatbin = false;
};

/// Finds the built-in kernel of that name and its parameter letters. Returns false if there is none.
bool find_builtin(const std::string& name, HostKernel& kernel, std::string& letters);

/// Whether an image is an nvcc fatbin. Only the library loads one here.
bool is_fatbin(const void* image);
/// Returns its kernels, written by hand, because this driver runs no device code (fake_measure.cpp).
std::vector<KernelImage> kernels_of_fatbin();

}  // namespace fake_cuda
