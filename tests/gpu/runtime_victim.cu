// A program that uses the CUDA runtime in typical ways: runtime_victim MODE, or --list. It must not use the
// library. The output is the same in every run. A last line `launches N` counts its kernels and graphs, where
// that is certain. It is built twice, the second time with per-thread default streams.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int kCount = 1 << 16;
int g_launches = 0;  // by the main thread

__global__ void fill(float* data, int count, float value) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) data[i] = value + static_cast<float>(i % 7);
}

__global__ void scale(float* data, int count, float by) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) data[i] *= by;
}

__global__ void write_to(int* address) {
    *address = static_cast<int>(threadIdx.x);
}

__global__ void trap() {
    __trap();
}

__global__ void speak() {
    printf("thread %d speaks\n", static_cast<int>(threadIdx.x));
}

__global__ void wait_a_moment(long long clocks) {
    const long long start = clock64();
    while (clock64() - start < clocks) {
    }
}

__global__ void together(float* data, int count) {
    const auto grid = cooperative_groups::this_grid();
    const auto i = static_cast<int>(grid.thread_rank());
    if (i < count) data[i] += 1.0F;
    grid.sync();
    if (i < count) data[i] += data[(i + 1) % count] > 0.0F ? 1.0F : 0.0F;
}

void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::printf("unexpected: %s\n", cudaGetErrorName(error));
    std::exit(9);
}

float* new_data() {
    float* data = nullptr;
    must(cudaMalloc(&data, kCount * sizeof(float)));
    return data;
}

void launch_both(float* data, float value, cudaStream_t stream) {
    fill<<<kCount / 256, 256, 0, stream>>>(data, kCount, value);
    scale<<<kCount / 256, 256, 0, stream>>>(data, kCount, 1.5F);
}

double sum_of(const float* data, cudaStream_t stream) {
    std::vector<float> host(kCount);
    must(cudaMemcpyAsync(host.data(), data, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream));
    must(cudaStreamSynchronize(stream));
    double sum = 0;
    for (const float value : host)
        sum += value;
    return sum;
}

int results() {
    float* data = new_data();
    for (int i = 0; i < 50; ++i) {
        launch_both(data, static_cast<float>(i), nullptr);
        g_launches += 2;
    }
    std::printf("sum %.1f\n", sum_of(data, nullptr));
    must(cudaFree(data));
    return 0;
}

int streams() {
    std::vector<cudaStream_t> all(4);
    std::vector<float*> data;
    cudaEvent_t event = nullptr;
    must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (cudaStream_t& stream : all) {
        must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        data.push_back(new_data());
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i > 0) must(cudaStreamWaitEvent(all[i], event, 0));
        launch_both(data[i], static_cast<float>(i), all[i]);
        must(cudaEventRecord(event, all[i]));
        g_launches += 2;
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        std::printf("stream %zu %.1f\n", i, sum_of(data[i], all[i]));
    return 0;
}

int threads() {
    std::vector<double> sums(4);
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        workers.emplace_back([&sums, i] {
            cudaStream_t stream = nullptr;
            must(cudaStreamCreate(&stream));
            float* data = new_data();
            for (int round = 0; round < 200; ++round)
                launch_both(data, static_cast<float>(i), stream);
            sums[i] = sum_of(data, stream);
        });
    }
    for (std::thread& worker : workers)
        worker.join();
    for (const double sum : sums)
        std::printf("sum %.1f\n", sum);
    g_launches = 4 * 200 * 2;
    return 0;
}

cudaGraphExec_t capture(float* data, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch_both(data, 2.0F, stream);
    scale<<<kCount / 256, 256, 0, stream>>>(data, kCount, 2.0F);
    must(cudaStreamEndCapture(stream, &graph));
    std::size_t nodes = 0;
    must(cudaGraphGetNodes(graph, nullptr, &nodes));
    std::printf("nodes %zu\n", nodes);
    must(cudaGraphInstantiate(&ready, graph, 0));
    must(cudaGraphDestroy(graph));
    return ready;
}

int graph() {
    cudaStream_t stream = nullptr;
    must(cudaStreamCreate(&stream));
    float* data = new_data();
    launch_both(data, 1.0F, stream);  // loads the kernels, which a capture may not allow
    must(cudaStreamSynchronize(stream));
    cudaGraphExec_t ready = capture(data, stream);
    for (int i = 0; i < 10; ++i)
        must(cudaGraphLaunch(ready, stream));
    std::printf("sum %.1f\n", sum_of(data, stream));
    g_launches = 2 + 3 + 10;
    return 0;
}

/// One thread captures repeatedly in the strictest mode while another launches.
int graph_threads() {
    cudaStream_t capturing = nullptr;
    cudaStream_t launching = nullptr;
    must(cudaStreamCreateWithFlags(&capturing, cudaStreamNonBlocking));
    must(cudaStreamCreateWithFlags(&launching, cudaStreamNonBlocking));
    float* mine = new_data();
    float* theirs = new_data();
    launch_both(mine, 1.0F, capturing);
    must(cudaDeviceSynchronize());
    std::thread other([&] {
        for (int i = 0; i < 20000; ++i)
            launch_both(theirs, 3.0F, launching);
    });
    for (int i = 0; i < 20; ++i) {
        cudaGraphExec_t ready = capture(mine, capturing);
        must(cudaGraphLaunch(ready, capturing));
    }
    other.join();
    std::printf("sums %.1f %.1f\n", sum_of(mine, capturing), sum_of(theirs, launching));
    g_launches = 2 + 20000 * 2 + 20 * 4;
    return 0;
}

int cooperative() {
    float* data = new_data();
    fill<<<kCount / 256, 256>>>(data, kCount, 1.0F);
    int count = 2048;
    void* arguments[] = {&data, &count};
    must(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&together), dim3(8), dim3(256), arguments, 0,
                                     nullptr));
    std::printf("sum %.1f\n", sum_of(data, nullptr));
    g_launches = 2;
    return 0;
}

int launch_ex() {
    float* data = new_data();
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(kCount / 256);
    config.blockDim = dim3(256);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributePriority;
    attribute.val.priority = 0;
    config.attrs = &attribute;
    config.numAttrs = 1;
    must(cudaLaunchKernelEx(&config, fill, data, kCount, 4.0F));
    must(cudaLaunchKernelEx(&config, scale, data, kCount, 0.5F));
    std::printf("sum %.1f\n", sum_of(data, nullptr));
    g_launches = 2;
    return 0;
}

int pools() {
    cudaStream_t stream = nullptr;
    must(cudaStreamCreate(&stream));
    for (int i = 0; i < 5; ++i) {
        float* data = nullptr;
        must(cudaMallocAsync(&data, kCount * sizeof(float), stream));
        launch_both(data, static_cast<float>(i), stream);
        std::printf("sum %.1f\n", sum_of(data, stream));
        must(cudaFreeAsync(data, stream));
        g_launches += 2;
    }
    return 0;
}

int device_speaks() {
    speak<<<1, 3>>>();
    must(cudaDeviceSynchronize());
    g_launches = 1;
    return 0;
}

/// Rejected launches and the queries after them: the last error must still be the program's own.
int errors() {
    float* data = new_data();
    std::printf("before: %s\n", cudaGetErrorName(cudaGetLastError()));
    fill<<<1, 4096>>>(data, kCount, 1.0F);
    std::printf("too many threads: %s,", cudaGetErrorName(cudaPeekAtLastError()));
    launch_both(data, 1.0F, nullptr);
    std::printf(" still %s, then %s\n", cudaGetErrorName(cudaGetLastError()),
                cudaGetErrorName(cudaGetLastError()));
    fill<<<1, 32, 1 << 30>>>(data, kCount, 1.0F);
    std::printf("too much shared memory: %s\n", cudaGetErrorName(cudaGetLastError()));
    fill<<<0, 32>>>(data, kCount, 1.0F);
    std::printf("empty grid: %s\n", cudaGetErrorName(cudaGetLastError()));
    void* much = nullptr;
    std::printf("too much memory: %s,", cudaGetErrorName(cudaMalloc(&much, std::size_t{1} << 50)));
    std::printf(" %s\n", cudaGetErrorName(cudaGetLastError()));
    std::printf("sum %.1f, end: %s\n", sum_of(data, nullptr), cudaGetErrorName(cudaGetLastError()));
    return 0;
}

int fault() {
    write_to<<<1, 32>>>(reinterpret_cast<int*>(0x10));
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("synchronise: %s, last: %s\n", cudaGetErrorName(error), cudaGetErrorName(cudaGetLastError()));
    write_to<<<1, 32>>>(nullptr);
    std::printf("next launch: %s\n", cudaGetErrorName(cudaGetLastError()));
    return 3;
}

int device_traps() {
    trap<<<1, 1>>>();
    std::printf("synchronise: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 4;
}

int reset() {
    for (int i = 0; i < 3; ++i) {
        results();
        must(cudaDeviceReset());
    }
    return 0;
}

int exit_at_once() {
    wait_a_moment<<<1, 1>>>(1000000000LL);
    std::printf("launched\n");
    std::fflush(stdout);
    _exit(5);
}

int abort_at_once() {
    results();
    std::fflush(stdout);
    std::abort();
}

int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// A child forked before CUDA is initialized may use it like its parent.
int fork_before() {
    const pid_t child = fork();
    if (child == 0) {
        results();
        std::fflush(stdout);
        _exit(6);
    }
    std::printf("child ended with %d\n", wait_for(child));
    g_launches = 0;
    return results();
}

/// A child forked after that cannot use it, and must not disturb its parent.
int fork_after() {
    results();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(7);
    std::printf("child ended with %d\n", wait_for(child));
    return results();
}

struct Mode {
    const char* name;
    int (*run)();
    bool counted;  // the number of launches is certain
};

const Mode kModes[] = {
    {"results", results, true},
    {"streams", streams, true},
    {"threads", threads, true},
    {"graph", graph, true},
    {"graph_threads", graph_threads, true},
    {"cooperative", cooperative, true},
    {"launch_ex", launch_ex, true},
    {"pools", pools, true},
    {"device_speaks", device_speaks, true},
    {"errors", errors, false},
    {"fault", fault, false},
    {"device_traps", device_traps, false},
    {"reset", reset, true},
    {"exit_at_once", exit_at_once, false},
    {"abort_at_once", abort_at_once, false},
    {"fork_before", fork_before, false},
    {"fork_after", fork_after, true},
};

}  // namespace

int main(int argc, char** argv) {
    const char* requested = argc == 2 ? argv[1] : "";
    for (const Mode& mode : kModes) {
        if (std::strcmp(requested, "--list") == 0) {
            std::printf("%s\n", mode.name);
        } else if (std::strcmp(requested, mode.name) == 0) {
            const int code = mode.run();
            if (mode.counted) std::printf("launches %d\n", g_launches);
            return code;
        }
    }
    return std::strcmp(requested, "--list") == 0 ? 0 : 2;
}
