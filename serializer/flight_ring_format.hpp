// The flight ring on disk, version 4: what was known of the last calls of each thread, before they ran.
// Written by the library through a shared mapping, so it survives SIGKILL; read by `aoti-dbg show`.
//
//   offset 0      FileHeader, 4096 bytes
//   then blocks, back to back, each beginning at a multiple of 4096 with a BlockHeader that gives its length:
//     names block    BlockHeader | entries: u16 length, bytes (no NUL) | ...   ids count on over the blocks
//     thread block   BlockHeader | capacity x Record                           one ring
//     markers block  BlockHeader | MarkersHeader | capacity x MarkedStream     one context of the device
//   A block of kind 0 or of length 0 ends the file.
//
// Integers are in the byte order of the machine that wrote (`magic` shows it). A record is being written
// while its `seq` is 0. Fields are only ever added in reserved places; anything else raises kVersion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::ring {

inline constexpr std::uint64_t kMagic = 0x31474e5249544f41ULL;  // the bytes "AOTIRNG1", little-endian
// 2: `launch`. 3: markers; `depth` has given half of its bytes to `mark`. 4: and of the rest one to
// `context`.
inline constexpr std::uint32_t kVersion = 4;
inline constexpr std::size_t kPage = 4096;

/// What a call is. The numbers are part of the format.
enum class CallKind : std::uint8_t {
    unknown = 0,
    triton = 1,      // a kernel that the model itself launched
    extern_op = 2,   // aoti_torch_<device>_<op>
    proxy_op = 3,    // through aoti_torch_proxy_executor_call_function
    dispatcher = 4,  // through aoti_torch_call_dispatcher
    cpp_kernel = 5,  // cpp_fused_*
    launch = 6,      // a kernel launched by anybody else: a library under an op, torch.compile, the program
    graph = 7,       // cuGraphLaunch
    run = 8,         // one inference: AOTInductorModelContainerRun
    lifecycle = 9,   // a model created, deleted, its weights changed; a module or context that goes
    wait = 10,       // a call of the driver that waits for the device; what it returned is a CUresult
};

/// Whether it hands kernels to the device.
inline constexpr bool is_launch(CallKind kind) {
    return kind == CallKind::triton || kind == CallKind::launch || kind == CallKind::graph;
}

/// Whether what such a call returns is a CUresult.
inline constexpr bool returns_cuda_error(CallKind kind) {
    return is_launch(kind) || kind == CallKind::wait;
}

enum RecordFlags : std::uint8_t {
    kEnded = 1,               // came back; `result` holds what it returned
    kUnwoundByException = 2,  // never came back: an exception went through it
    kPrinted = 4,             // selected and printed
    kCaptured = 8,            // a launch that went into a graph, and not to the device
};

inline constexpr std::uint32_t kNoRun = 0xffffffffU;
inline constexpr std::uint32_t kNoCall = 0xffffffffU;
inline constexpr std::uint16_t kNoModel = 0xffffU;

/// A context of a device, in which launches were numbered.
struct DeviceContext {
    std::uint64_t handle;  // the CUcontext as a number; 0: the place is free
    std::uint32_t device;  // as the process counts those that it sees
    std::uint32_t reserved;
};
static_assert(sizeof(DeviceContext) == 16);
inline constexpr std::size_t kMostContexts = 64;

struct FileHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t record_bytes;  // sizeof(Record)
    std::uint32_t pid;
    std::uint32_t ended;  // 1: the process ended in good order and nothing came after
    // Two moments on both clocks; a tick's length follows from them (the second is set at each run's begin).
    std::uint64_t start_unix_ns;
    std::uint64_t start_ticks;
    std::uint64_t anchor_unix_ns;
    std::uint64_t anchor_ticks;
    std::uint64_t runs;  // runs begun so far
    char program[256];   // the executable's path, cut, NUL-terminated
    char library[32];    // our version
    // The signal by which the process ends, where the library has seen it come, and to which thread. A
    // program's own handlers are left alone, so none does not mean that there was none.
    std::uint32_t signal;
    std::uint32_t signal_thread;
    std::uint64_t signal_unix_ns;  // when it came; 0: not known
    // Of SIGSEGV and SIGBUS that the processor has raised: 1, and the address that was accessed.
    std::uint64_t has_signal_address;
    std::uint64_t signal_address;
    DeviceContext contexts[kMostContexts];
};
static_assert(sizeof(FileHeader) <= kPage);

enum class BlockKind : std::uint32_t { end = 0, names = 1, thread = 2, markers = 3 };

struct BlockHeader {
    BlockKind kind;
    std::uint32_t tid;       // thread block: whose ring
    std::uint64_t bytes;     // of the whole block, this header included; a multiple of kPage
    std::uint32_t capacity;  // thread block: records, a power of two; markers block: streams
    std::uint32_t ended;     // thread block: 1 when the thread has ended
    std::uint64_t written;   // thread block: records ever begun; record i lies at i % capacity
    std::uint64_t used;      // names block: bytes of complete entries after this header
    std::uint32_t first_id;  // names block: id of its first entry; markers block: mark of its first stream
    std::uint32_t count;     // names block: complete entries
    std::uint64_t reserved[2];
};
static_assert(sizeof(BlockHeader) == 64);

struct Record {
    std::uint64_t seq;  // counts from 1 over the whole process, in the order in which calls began
    std::uint64_t begin_ticks;
    std::uint64_t end_ticks;  // 0: has not come back
    std::uint64_t stream;     // CUstream as a number, 0 the legacy stream (and host calls)
    std::uint32_t name;       // id in the names blocks
    std::uint32_t run;        // number of the run in the process, kNoRun outside
    std::uint32_t call;       // number of the model's own call within its run, kNoCall for others
    std::uint8_t depth;       // calls of this thread that are open around it (a run counts)
    // Of a launch or a wait: the place of its context in the header, from 1; 0: not known.
    std::uint8_t context;
    std::uint16_t mark;    // of a launch with a completion marker: where it is marked; 0: it has none
    std::uint32_t back;    // seq less that of the call it was made in, 0: none
    std::uint32_t launch;  // number of the kernel among those of its context, 0: not counted; of a wait:
                           // seq less that of the last call it waits for, 0: all that were before it
    std::int32_t result;   // what the real function returned
    std::uint16_t model;   // number of the model, kNoModel outside
    CallKind kind;
    std::uint8_t flags;
};
static_assert(sizeof(Record) == 64);

/// What makes the markers of a context tell less.
enum MarkersFlags : std::uint32_t {
    kNotAll = 1,      // some launches have none
    kOwnKernels = 2,  // kernels of the library's own ran between them
    kMayRunOn = 4,    // behind a fault kernels may have run on: the driver was to write a core dump
};

/// Completion markers: behind each launch the stream writes its number into memory of the host. What was
/// there is copied here now and then, and always when a call has returned an error that the context does not
/// survive.
struct MarkersHeader {
    std::uint64_t looked_ticks;  // when it was copied last; 0: never
    std::int32_t error;          // the first such error; 0: none
    std::uint32_t flags;
    std::uint64_t reserved[6];
};
static_assert(sizeof(MarkersHeader) == 64);

/// What one thread has launched on one stream. Of these launches one has ended if and only if its number is
/// not beyond `completed`, as of the last look.
struct MarkedStream {
    std::uint64_t stream;
    std::uint64_t completed;  // seq
    std::uint64_t last;       // seq of the last launch with a marker
    std::uint32_t tid;        // 0: the place is free
    std::uint32_t reserved;
};
static_assert(sizeof(MarkedStream) == 32);

}  // namespace aoti_dbg::ring
