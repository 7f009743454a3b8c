// A CUDA runtime program with a seeded fault: fault_victim KIND [LAUNCHES [AT [STREAMS [END [DUMP]]]]]
// It must not use the library. Its first line names the faulting kernel: "kernel step_4 launch 60". Then it
// prints the errors that it gets.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// KIND      the fault in launch number AT: see kKinds, or --list
// LAUNCHES  of eight kernels in turn (default 100), on STREAMS streams in turn (3). AT counts from 0 (60)
// STREAMS   3x2 means three streams on each of two devices, which take turns and run the same kernels
// END       sync (waits for all streams, and exits with 3 if one failed, else with 0), exit (at once, with
//           0) or abort (if a stream failed)
// DUMP      a file: the program itself enables a small core dump of the fault, without an abort
namespace {

enum Wrong : int { none, store, load, copies, misaligned, asserts, traps, stack, shared, hangs, crowd };

constexpr int kCount = 1 << 14;

__device__ int descend(int depth, volatile int* out) {
    volatile int room[64];
    room[depth & 63] = depth;
    const int below = depth > 1000000 ? depth : descend(depth + 1, out);
    return below + room[(depth + 1) & 63];
}

/// Loads like pipelined matrix products: past the registers, into shared memory.
__device__ float copy_from(const char* from) {
    __shared__ alignas(16) float there[4];
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n\tcp.async.wait_all;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(there))),
                 "l"(from)
                 : "memory");
#else
    there[0] = *reinterpret_cast<const volatile float*>(from);
#endif
    return there[0];
}

/// Runs until the device is fully occupied. The faulting block ends first.
__device__ void stay() {
    const long long until = clock64() + (blockIdx.x == 2 ? 20'000'000 : 2'000'000'000);
    while (clock64() < until) {
    }
}

/// The fault that the third argument selects, in thread 5 of block 2.
__device__ void go_wrong(int wrong, float* data, char* bad) {
    if (wrong == crowd) stay();
    if (wrong == none || blockIdx.x != 2 || threadIdx.x != 5) return;
    __shared__ int small[4];
    switch (wrong) {
        case store:
            *reinterpret_cast<float*>(bad) = 1.0F;
            break;
        case load:
        case crowd:
            data[0] = *reinterpret_cast<volatile float*>(bad);
            break;
        case copies:
            data[0] = copy_from(bad);
            break;
        case misaligned:
            *reinterpret_cast<volatile float*>(bad + 1) = 2.0F;
            break;
        case asserts:
            assert(bad == nullptr);
            break;
        case traps:
            __trap();
            break;
        case stack:
            data[0] = static_cast<float>(descend(0, reinterpret_cast<int*>(data)));
            break;
        case shared:
            small[1] = 0;
            *const_cast<volatile int*>(small + (1 << 20) * (bad != nullptr)) = small[1];
            break;
        case hangs:
            while (*reinterpret_cast<volatile float*>(bad) >= 0.0F) {
            }
            break;
        default:
            break;
    }
}

}  // namespace

// Eight kernels that differ only in their names and lines.
#define STEP(N)                                                                         \
    extern "C" __global__ void step_##N(float* data, int count, int wrong, char* bad) { \
        const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);          \
        if (i < count) data[i] = data[i] * 0.5F + static_cast<float>(N);                \
        go_wrong(wrong, data, bad);                                                     \
    }
STEP(0)
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)
STEP(6)
STEP(7)

namespace {

using Step = void (*)(float*, int, int, char*);
constexpr Step kSteps[] = {step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7};

void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::printf("unexpected: %s\n", cudaGetErrorName(error));
    std::exit(9);
}

struct Kind {
    const char* name;
    Wrong wrong;
    char* (*address)(char* data);  // derived from a 64 KiB buffer
};

/// Large enough that the driver unmaps the memory.
char* freed(char*) {
    char* data = nullptr;
    must(cudaMalloc(&data, 256 << 20));
    must(cudaFree(data));
    return data + 4096;
}

const Kind kKinds[] = {
    {"ok", none, [](char* data) { return data; }},
    {"null", store, [](char*) -> char* { return nullptr; }},
    {"store", store, [](char*) { return reinterpret_cast<char*>(0x7000000000000ULL); }},
    {"load", load, [](char*) { return reinterpret_cast<char*>(0x10); }},
    {"copy", copies, [](char*) { return reinterpret_cast<char*>(0x7000000000000ULL); }},
    // Far enough to leave the driver's other mappings.
    {"overrun", store, [](char* data) { return data + (64LL << 30); }},
    {"freed", load, freed},
    {"misaligned", misaligned, [](char* data) { return data; }},
    {"assert", asserts, [](char* data) { return data; }},
    {"trap", traps, [](char* data) { return data; }},
    {"stack", stack, [](char* data) { return data; }},
    {"shared", shared, [](char* data) { return data; }},
    {"hang", hangs, [](char* data) { return data; }},
    // The fault occurs while the device is fully occupied.
    {"crowd", crowd, [](char*) { return reinterpret_cast<char*>(0x10); }},
    // The fault follows copies, which the driver numbers like launches.
    {"behind", load, [](char*) { return reinterpret_cast<char*>(0x10); }},
    {"graph", store, [](char*) { return reinterpret_cast<char*>(0x7000000000000ULL); }},
};

int number(char** argv, int argc, int at, int otherwise) {
    return at < argc ? std::atoi(argv[at]) : otherwise;
}

/// Launches number i, on `devices` devices in turn.
void launch(int i, const std::vector<cudaStream_t>& streams, const std::vector<float*>& data, int devices,
            Wrong wrong, char* bad) {
    const std::size_t at = static_cast<std::size_t>(i) % streams.size();
    if (devices > 1) cudaSetDevice(i % devices);
    // The driver may reject a launch after the fault.
    const int blocks = wrong == crowd ? 8192 : kCount / 256;
    kSteps[i / devices % 8]<<<blocks, 256, 0, streams[at]>>>(data[at], kCount, wrong, bad);
}

/// Copies within the current device with each call that copies between peers, and in a batch. The driver may
/// reject copies after the fault.
void copy_within(char* room, cudaStream_t stream) {
    constexpr std::size_t kBytes = 4096;
    char *const to = room, *const from = room + 2 * kBytes;
    int device = 0;
    cudaGetDevice(&device);
    cudaMemcpyPeer(to, device, from, device, kBytes);
    cudaMemcpyPeerAsync(to, device, from, device, kBytes, stream);
    cudaMemcpy3DPeerParms rows{};
    rows.dstDevice = rows.srcDevice = device;
    rows.dstPtr = make_cudaPitchedPtr(to, 512, 512, 8);
    rows.srcPtr = make_cudaPitchedPtr(from, 512, 512, 8);
    rows.extent = make_cudaExtent(16, 4, 2);
    cudaMemcpy3DPeerAsync(&rows, stream);
#if CUDART_VERSION >= 13000
    void* const into[] = {to, to + kBytes};
    const void* const of[] = {from, from + kBytes};
    const std::size_t bytes[] = {kBytes, kBytes};
    cudaMemcpyAttributes how{};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    cudaMemcpyBatchAsync(into, of, bytes, 2, &how, &first, 1, stream);
#endif
}

/// Must run between the driver's initialization and the first context. The numbers are cuda.h's
/// CUcoredumpSettings.
void ask_for_dump(char* file) {
    int devices = 0;
    must(cudaGetDeviceCount(&devices));
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    using Set = int (*)(int what, void* value, std::size_t* bytes);
    const auto set =
        driver == nullptr ? nullptr : reinterpret_cast<Set>(dlsym(driver, "cuCoredumpSetAttributeGlobal"));
    unsigned without_memory_and_abort = 0x3f;
    bool enabled = true;
    std::size_t bytes[] = {std::strlen(file) + 1, sizeof without_memory_and_abort, sizeof enabled};
    if (set != nullptr && set(5, file, bytes) == 0 && set(7, &without_memory_and_abort, bytes + 1) == 0 &&
        set(1, &enabled, bytes + 2) == 0)
        return;
    std::printf("unexpected: no core dump can be asked for\n");
    std::exit(9);
}

cudaError_t synchronize(const std::vector<cudaStream_t>& streams) {
    cudaError_t seen = cudaSuccess;
    for (std::size_t i = 0; i < streams.size(); ++i) {
        const cudaError_t error = cudaStreamSynchronize(streams[i]);
        std::printf("stream %zu: %s\n", i, cudaGetErrorName(error));
        if (error != cudaSuccess) seen = error;
    }
    std::fflush(stdout);
    return seen;
}

}  // namespace

int main(int argc, char** argv) {
    const Kind* kind = nullptr;
    for (const Kind& one : kKinds) {
        if (argc > 1 && std::strcmp(argv[1], "--list") == 0) std::printf("%s\n", one.name);
        if (argc > 1 && std::strcmp(argv[1], one.name) == 0) kind = &one;
    }
    if (kind == nullptr) return 2;
    const int launches = number(argv, argc, 2, 100);
    const int wrong_at = number(argv, argc, 3, 60);
    const char* const end = argc > 5 ? argv[5] : "sync";
    if (argc > 6) ask_for_dump(argv[6]);

    int count = 3;
    int devices = 1;
    if (argc > 4 && (std::sscanf(argv[4], "%dx%d", &count, &devices) < 1 || count < 1 || devices < 1))
        return 2;
    std::vector<cudaStream_t> streams(static_cast<std::size_t>(count * devices));
    std::vector<float*> data;
    for (cudaStream_t& stream : streams) {
        must(cudaSetDevice(static_cast<int>(data.size()) % devices));
        must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        data.push_back(nullptr);
        must(cudaMalloc(&data.back(), kCount * sizeof(float)));
        must(cudaMemset(data.back(), 0, kCount * sizeof(float)));
        must(cudaDeviceSynchronize());
    }
    char* room = nullptr;
    must(cudaSetDevice(wrong_at % devices));
    must(cudaMalloc(&room, 1 << 16));
    must(cudaMemset(room, 0, 1 << 16));
    must(cudaDeviceSynchronize());
    std::printf("kernel step_%d launch %d\n", wrong_at / devices % 8, wrong_at);
    std::fflush(stdout);
    char* const bad = kind->address(room);

    if (std::strcmp(kind->name, "graph") == 0) {
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t ready = nullptr;
        must(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
        for (int i = 0; i < launches; ++i)
            launch(i, {streams[0]}, {data[0]}, 1, i == wrong_at ? kind->wrong : none, bad);
        must(cudaStreamEndCapture(streams[0], &graph));
        must(cudaGraphInstantiate(&ready, graph, 0));
        must(cudaGraphLaunch(ready, streams[0]));
    } else {
        const bool copies = std::strcmp(kind->name, "behind") == 0;
        for (int i = 0; i < launches; ++i) {
            launch(i, streams, data, devices, i == wrong_at ? kind->wrong : none, bad);
            const std::size_t at = static_cast<std::size_t>(i) % streams.size();
            if (copies) copy_within(reinterpret_cast<char*>(data[at]), streams[at]);
        }
    }
    if (std::strcmp(end, "exit") == 0) return 0;
    const cudaError_t seen = synchronize(streams);
    if (seen != cudaSuccess && std::strcmp(end, "abort") == 0) std::abort();
    return seen == cudaSuccess ? 0 : 3;
}
