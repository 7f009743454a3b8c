// The flight ring on disk, version 5: the last calls of each thread, recorded before they run. The library
// writes it through a shared mapping, so it survives SIGKILL. `aoti-dbg show` reads it.
//
//   offset 0      FileHeader, 4096 bytes
//   then blocks, back to back, each at a multiple of 4096, starting with a BlockHeader that gives its length:
//     names block    BlockHeader | entries: u16 length, bytes (no NUL) | ...   ids continue across blocks
//     thread block   BlockHeader | capacity x Record | capacity x u32 line     one ring
//     markers block  BlockHeader | MarkersHeader | capacity x MarkedStream     one context of the device
//   A block of kind 0 or of length 0 ends the file.
//
// Integers use the byte order of the writing machine; `magic` shows it. A record with `seq` 0 is being
// written. New fields use reserved bytes only; any other change raises kVersion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::ring {

inline constexpr std::uint64_t kMagic = 0x31474e5249544f41ULL;  // the bytes "AOTIRNG1", little-endian
// Version 2 added `launch`. Version 3 added markers and gave half of the bytes of `depth` to `mark`. Version
// 4 gave one of its remaining bytes to `context`. Version 5 added the lines of a thread block.
inline constexpr std::uint32_t kVersion = 5;
inline constexpr std::size_t kPage = 4096;

/// The kind of a call. The numbers are part of the format.
enum class CallKind : std::uint8_t {
    unknown = 0,
    triton = 1,      // a kernel launched by the model itself
    extern_op = 2,   // aoti_torch_<device>_<op>
    proxy_op = 3,    // through aoti_torch_proxy_executor_call_function
    dispatcher = 4,  // through aoti_torch_call_dispatcher
    cpp_kernel = 5,  // cpp_fused_*
    launch = 6,      // a kernel launched by other code: a library inside an op, torch.compile, the program
    graph = 7,       // cuGraphLaunch
    run = 8,         // one inference: AOTInductorModelContainerRun
    lifecycle = 9,   // a model created, deleted or given new weights; a module or context that is destroyed
    wait = 10,       // a driver call that waits for the device; its result is a CUresult
};

/// True if it submits kernels to the device.
inline constexpr bool is_launch(CallKind kind) {
    return kind == CallKind::triton || kind == CallKind::launch || kind == CallKind::graph;
}

/// True if the result of such a call is a CUresult.
inline constexpr bool returns_cuda_error(CallKind kind) {
    return is_launch(kind) || kind == CallKind::wait;
}

enum RecordFlags : std::uint8_t {
    kEnded = 1,               // returned; `result` holds the return value
    kUnwoundByException = 2,  // did not return: an exception unwound it
    kPrinted = 4,             // selected and printed
    kCaptured = 8,            // a launch captured into a graph, not submitted to the device
};

inline constexpr std::uint32_t kNoRun = 0xffffffffU;
inline constexpr std::uint32_t kNoCall = 0xffffffffU;
inline constexpr std::uint16_t kNoModel = 0xffffU;

/// A device context in which launches were numbered.
struct DeviceContext {
    std::uint64_t handle;  // the CUcontext as a number; 0: unused
    std::uint32_t device;  // the ordinal that the process sees
    std::uint32_t reserved;
};
static_assert(sizeof(DeviceContext) == 16);
inline constexpr std::size_t kMostContexts = 64;

struct FileHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t record_bytes;  // sizeof(Record)
    std::uint32_t pid;
    std::uint32_t ended;  // 1: the process exited normally and recorded nothing afterwards
    // Two points in time on both clocks give the length of a tick. The second is set when each run begins.
    std::uint64_t start_unix_ns;
    std::uint64_t start_ticks;
    std::uint64_t anchor_unix_ns;
    std::uint64_t anchor_ticks;
    std::uint64_t runs;  // runs started so far
    char program[256];   // the executable's path, truncated, NUL-terminated
    char library[32];    // library version
    // The signal that ended the process and the thread that received it, if the library saw it. The library
    // does not replace the program's own handlers, so 0 does not rule out a signal.
    std::uint32_t signal;
    std::uint32_t signal_thread;
    std::uint64_t signal_unix_ns;  // when it arrived; 0: unknown
    // For a SIGSEGV or SIGBUS raised by the processor: 1 and the accessed address.
    std::uint64_t has_signal_address;
    std::uint64_t signal_address;
    DeviceContext contexts[kMostContexts];
};
static_assert(sizeof(FileHeader) <= kPage);

enum class BlockKind : std::uint32_t { end = 0, names = 1, thread = 2, markers = 3 };

struct BlockHeader {
    BlockKind kind;
    std::uint32_t tid;       // thread block: the thread's id
    std::uint64_t bytes;     // of the whole block including this header; a multiple of kPage
    std::uint32_t capacity;  // thread block: records, a power of two; markers block: streams
    std::uint32_t ended;     // thread block: 1 after the thread has exited
    std::uint64_t written;   // thread block: records ever begun; record i is at i % capacity
    std::uint64_t used;      // names block: bytes of complete entries after this header
    std::uint32_t first_id;  // names block: id of its first entry; markers block: mark of its first stream
    std::uint32_t count;     // names block: complete entries
    std::uint64_t reserved[2];
};
static_assert(sizeof(BlockHeader) == 64);

/// The lines behind the records of a thread block are those of the wrapper source. A line is 0 if the package
/// has that source, from which the reader gets more.
struct Record {
    std::uint64_t seq;  // counts from 1 over the whole process, in the order in which calls begin
    std::uint64_t begin_ticks;
    std::uint64_t end_ticks;  // 0: has not returned
    std::uint64_t stream;     // CUstream as a number; 0: the legacy stream (and host calls)
    std::uint32_t name;       // id in the names blocks
    std::uint32_t run;        // run number in the process; kNoRun outside runs
    std::uint32_t call;       // number of the model's own call within its run; kNoCall for other calls
    std::uint8_t depth;       // open calls of this thread around it, including a run
    // For a launch or a wait: the index of its context in the header, from 1. 0 means unknown.
    std::uint8_t context;
    std::uint16_t mark;    // of a launch with a completion marker: its marked stream; 0: none
    std::uint32_t back;    // seq minus that of the enclosing call; 0: none
    std::uint32_t launch;  // launch: number of the kernel in its context, 0: not counted; wait: seq minus
                           // that of the last call it waits for, 0: all earlier ones
    std::int32_t result;   // the real function's return value
    std::uint16_t model;   // model number; kNoModel outside models
    CallKind kind;
    std::uint8_t flags;
};
static_assert(sizeof(Record) == 64);

/// What weakens the evidence of a context's markers.
enum MarkersFlags : std::uint32_t {
    kNotAll = 1,      // some launches have no marker
    kOwnKernels = 2,  // the library's own kernels ran between the markers
    kMayRunOn = 4,    // kernels may have kept running after a fault, because the driver was set to write a
                      // core dump
};

/// Completion markers: after each launch, the stream writes the launch's number to host memory. The library
/// copies these numbers here from time to time. It always does so when a call returns an error that destroys
/// the context.
struct MarkersHeader {
    std::uint64_t looked_ticks;  // when they were last copied; 0: never
    std::int32_t error;          // the first error that destroyed the context; 0: none
    std::uint32_t flags;
    std::uint64_t reserved[6];
};
static_assert(sizeof(MarkersHeader) == 64);

/// The launches of one thread on one stream. One of them has ended if and only if its number is at most
/// `completed`, as of the last copy.
struct MarkedStream {
    std::uint64_t stream;
    std::uint64_t completed;  // seq
    std::uint64_t last;       // seq of the last launch with a marker
    std::uint32_t tid;        // 0: unused
    std::uint32_t reserved;
};
static_assert(sizeof(MarkedStream) == 32);

}  // namespace aoti_dbg::ring
