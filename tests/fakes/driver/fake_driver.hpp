// A software CUDA driver: what its files share. Memory lies on the host, a stream is a worker thread, a
// kernel is a host function that a text file names. It behaves as the real driver does where programs can
// tell: order, asynchronous errors, handles that die and come back, capture. It must be free of data races,
// must not print, and must not need a GPU.
//
// Types and names come from cuda.h, with the renaming by macro taken back, so that the compiler compares
// every definition with NVIDIA's declaration.
//
// Environment: FAKE_CUDA_INLINE=1 runs kernels in the launching thread; FAKE_CUDA_FAIL_AT=N makes kernel
// number N of the process fault (error 700, sticky in its context); FAKE_CUDA_DEVICES=n; FAKE_CUDA_DELAY_US=n
// keeps each kernel waiting; FAKE_CUDA_REFUSE=kernel makes its launches fail with error 701;
// FAKE_CUDA_NO_FATBIN=1 refuses fatbins as a device too old for them does; FAKE_CUDA_DIE_AT=N ends the
// process inside launch N, by the signal FAKE_CUDA_DIE_BY or, for 0, by _exit(7); FAKE_CUDA_EXPLAIN=1 says on
// stderr why a kernel of the fatbin faulted, FAKE_CUDA_NAME_FAULT=1 which other kernel did; FAKE_CUDA_COUNT=1
// says at exit how many of them were launched; FAKE_CUDA_MEMORY=n bytes are there instead of 8 GiB;
// FAKE_CUDA_NO_COREDUMP=1 knows nothing of core dumps;
// FAKE_CUDA_NO_STREAM_VALUES=1 writes no values in streams (error 801); FAKE_CUDA_FAULT_WINDOW=MS lets a
// fault of which a core dump is written be known as late as by the real driver (fake_fault.cpp), and
// FAKE_CUDA_NO_STANDSTILL=1 nobody wait for it meanwhile, as for a store whose warp has ended; with
// FAKE_CUDA_EARLY_ERROR=1 the error sticks before the dump is written, and with FAKE_CUDA_DEBUGGER_CRASHES=1
// the debugger's thread ends the process by SIGSEGV before; with FAKE_CUDA_LOST_FAULT=1 the driver does not
// notice the fault, and only a core dump that somebody asks for tells of it; FAKE_CUDA_GATHER=MS keeps the
// debugger busy before it writes, and FAKE_CUDA_STANDING_KERNEL=name is what runs then, without a name
// nothing; FAKE_CUDA_FAULT_KIND says what the dump shows of it: store (its warp has ended), late_store (it
// met a warp of the next kernel) or trap. CUDA_LAUNCH_BLOCKING=1, which is the real driver's, lets a launch
// wait for its kernel.
#pragma once

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

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

constexpr int kDriverVersion = 13000;

struct Capture;

struct Stream {
    std::atomic<bool> alive{false};
    Context* context = nullptr;
    std::shared_ptr<Queue> queue;
    bool blocking = true;  // orders itself with the legacy stream
    unsigned int flags = 0;
    int priority = 0;
    std::uint64_t id = 0;              // of no other stream, ever
    std::shared_ptr<Capture> capture;  // under capture_mutex()
    std::atomic<bool> captures{false};
};

struct Context {
    std::atomic<bool> alive{false};
    std::atomic<int> sticky{0};            // CUDA_ERROR_ILLEGAL_ADDRESS once a kernel faulted
    std::atomic<bool> has_faulted{false};  // and is being recorded
    std::atomic<bool> is_stalled{false};
    std::atomic<std::uint64_t> grids{0};  // numbers given to kernels
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
    std::shared_ptr<Queue> queue;  // nullptr: never recorded
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
    std::vector<struct Module*> modules;  // one a context, made when asked for
};

/// What a launch needs to know; functions and kernels share it.
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

// The pools are never destroyed: workers may still be running when the process ends.
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

/// What every call asks first: not in a forked child, after cuInit.
CUresult enter();
/// The same, and a living current context without a sticky error; returns it through `context`.
CUresult enter(Context*& context);
bool is_initialised();
int device_count();
Context* current_context();

// ---- core dumps (fake_coredump.cpp) ----

/// A kernel that was launched; without a name none.
struct Launched {
    std::string kernel;
    std::uint64_t grid = 0;  // its number in its context
    const Context* context = nullptr;
};

/// A context is to be made. From the first one on nobody can ask for core dumps any more. False: the pipe by
/// which one is asked for later, which the first has made, is gone, and the context cannot be.
bool note_context(std::uint64_t id);
/// One ends. When all that have opened the pipe have, nobody listens to it.
void note_end_of_context(std::uint64_t id);
bool core_dump_is_armed();
/// Whether the process is to end by SIGABRT after it.
bool core_dump_aborts();
/// Of a kernel that faults, where somebody has asked for it.
void write_core_dump(const Launched& launched);
/// Of one that runs.
void write_running(const Launched& launched);
/// The first that stands on a stream which is held is what runs, when somebody asks by the pipe.
void note_standing_kernel(const Launched& launched);

// ---- faults (fake_fault.cpp) ----

/// In the thread that runs the kernel: breaks the context, now or later.
void fault(Context* context, const std::string& kernel, std::uint64_t grid);
/// Somebody has asked for a core dump by the pipe: what is on the device is written down, and each context
/// fails.
void record_on_request(const Launched& running);
/// Before a kernel begins.
void wait_for_device(const Context* context);
/// With the first context.
void prepare_for_faults();

// ---- what a device reports (fake_event_handler.cpp) ----

/// Comes back when the thread sleeps. Once a process.
void start_event_handler();
/// Comes back when it has run.
void tell_event_handler();

// ---- streams (fake_stream.cpp) ----

/// What `handle` means to the calling thread: 0 and the two special values included. `per_thread` is set by
/// the _ptsz and _ptds names.
CUresult find_stream(CUstream handle, bool per_thread, Context* context, Stream*& stream);
void make_legacy_stream(Context* context);
/// Puts work on a stream in the order that CUDA promises between the legacy stream and the blocking ones.
std::uint64_t submit_in_order(Stream* stream, Queue::Task task);
void synchronize_context(Context* context);
void end_streams_of(Context* context);
void abandon_streams_of(Context* context);
void wait_event(Stream* stream, Event* event);

// ---- capture (fake_capture.cpp) ----

std::mutex& capture_mutex();
/// For a call that is unsafe while somebody captures: the error it must return, after it has broken the
/// captures that it may not happen beside. CUDA_SUCCESS where it is allowed.
CUresult unsafe_during_capture();
/// For work on the legacy stream, which would wait for streams that capture.
CUresult implicit_during_capture(Stream* stream);
/// Adds to the stream's capture. Only when stream->captures.
CUresult capture_task(Stream* stream, std::function<void()> task);
/// A kernel gets its number when the graph is instantiated.
CUresult capture_kernel(Stream* stream, std::function<void(std::uint64_t grid)> kernel);
void forget_capture_of(Stream* stream);

// ---- memory (fake_memory.cpp) ----

void free_memory_of(Context* context);
/// Whether all of [address, address + bytes) lies in one living allocation, mapping or registered range: what
/// a kernel may touch without a fault.
bool is_known(std::uint64_t address, std::size_t bytes);
/// Null for the host's memory.
Context* context_of_memory(std::uint64_t address);
/// Shared by a kernel from its checks to its end, exclusive to who frees: what was found living stays so.
std::shared_mutex& frees_mutex();
enum class Kind { device, host, registered, mapped };
CUresult allocate(std::uintptr_t& address, std::size_t bytes, Kind kind, Context* context);
/// Frees what was allocated; what was only made known is forgotten.
CUresult release(std::uintptr_t address, Kind kind);
/// Memory that is somebody else's; false where something is known already.
bool make_known(std::uintptr_t address, std::size_t bytes, Kind kind, Context* context);
bool is_pool(CUmemoryPool pool);
/// Memory without an address yet; false where there is not so much.
bool charge(std::size_t bytes);
void credit(std::size_t bytes);

// ---- copies and sets (fake_copy.cpp) ----

/// That of the driver's by which it sets or copies, numbered as any other: in the stream's context, or where
/// that has another device than the memory, in the memory's.
struct DriverKernel {
    bool is_there = false;
    Context* memory = nullptr;
};
/// Work that moves or sets bytes, on a stream or, with `wait`, over before the call returns.
CUresult enqueue(CUstream handle, bool per_thread, bool wait, std::function<void()> work,
                 const DriverKernel& kernel = {});

// ---- modules (fake_module.cpp, fake_kernels.cpp) ----

void unload_modules_of(Context* context);

struct KernelImage {
    std::string name;
    HostKernel kernel = nullptr;
    std::vector<std::uint32_t> offsets;  // of each parameter
    std::vector<std::uint32_t> sizes;
    std::uint32_t bytes = 0;
    bool is_nop = false;
    bool of_fatbin = false;
};

/// The built-in kernel of that name and the letters of its parameters; false where there is none.
bool find_builtin(const std::string& name, HostKernel& kernel, std::string& letters);

/// Whether an image is a fatbin of nvcc's. The only one that anybody loads here is the library's own.
bool is_fatbin(const void* image);
/// What is in it, written by hand: this driver runs no device code (fake_measure.cpp).
std::vector<KernelImage> kernels_of_fatbin();

}  // namespace fake_cuda
