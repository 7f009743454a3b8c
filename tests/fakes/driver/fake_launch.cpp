// Kernel launches. The fast path (FAKE_CUDA_INLINE=1 without capture) must neither lock nor allocate, because
// benchmarks depend on it. Launches of fatbin kernels are not the program's, so they get no number and no
// callback.
#include "tests/fakes/driver/fake_cuda_control.h"

#include <unistd.h>
#include <cerrno>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "tests/fakes/driver/fake_driver.hpp"
#include "tests/fakes/driver/fake_profile.hpp"

namespace fake_cuda {
namespace {

// The number of the function in CUPTI.
constexpr std::uint32_t kCuLaunchKernel = 307;

std::atomic<std::uint64_t> g_launches{0};
std::atomic<std::uint64_t> g_fatbin_launches{0};
std::atomic<void (*)(const char*, std::uint64_t)> g_on_launch{nullptr};

std::uint64_t number_from_environment(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

std::atomic<std::uint64_t>& fail_at() {
    static std::atomic<std::uint64_t> number{number_from_environment("FAKE_CUDA_FAIL_AT")};
    return number;
}

std::atomic<std::uint64_t>& delay_us() {
    static std::atomic<std::uint64_t> delay{number_from_environment("FAKE_CUDA_DELAY_US")};
    return delay;
}

struct Refusal {
    std::string kernel;
    CUresult result;
};

/// The target is never freed, because a launch may still read it.
std::atomic<const Refusal*>& refused() {
    static const char* const kernel = std::getenv("FAKE_CUDA_REFUSE");
    static const auto* const from_environment =
        kernel == nullptr ? nullptr : new Refusal{kernel, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES};
    static std::atomic<const Refusal*> refusal{from_environment};
    return refusal;
}

/// Ends the process inside launch FAKE_CUDA_DIE_AT by the signal FAKE_CUDA_DIE_BY, or by _exit(7) for 0.
void die_if_asked(std::uint64_t launch) {
    static const std::uint64_t die_at = number_from_environment("FAKE_CUDA_DIE_AT");
    static const std::uint64_t die_by = number_from_environment("FAKE_CUDA_DIE_BY");
    if (launch != die_at) return;
    if (die_by == 0) _exit(7);
    ::raise(static_cast<int>(die_by));
}

void say_fatbin_launches() {
    std::fprintf(stderr, "fake_cuda: %llu launches of the fatbin\n",
                 static_cast<unsigned long long>(g_fatbin_launches.load(std::memory_order_relaxed)));
}

/// Counts the launch and returns whether it must fault.
bool count_launch(const KernelImage& image) {
    if (image.of_fatbin) {
        static const bool is_said =
            std::getenv("FAKE_CUDA_COUNT") != nullptr && std::atexit(say_fatbin_launches) == 0;
        static_cast<void>(is_said);
        g_fatbin_launches.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    const std::uint64_t number = g_launches.fetch_add(1, std::memory_order_relaxed) + 1;
    die_if_asked(number);
    if (auto callback = g_on_launch.load(std::memory_order_relaxed)) callback(image.name.c_str(), number);
    return number == fail_at().load(std::memory_order_relaxed);
}

CUresult refused_value(const std::string& why) {
    return failed(CUDA_ERROR_INVALID_VALUE, "cuLaunchKernel", why);
}

CUresult check_shape(const LaunchShape& shape, const Launchable* function) {
    std::uint64_t threads = 1;
    for (int i = 0; i < 3; ++i) {
        if (shape.grid[i] == 0 || shape.block[i] == 0) return refused_value("a dimension is 0");
        threads *= shape.block[i];
    }
    if (threads > 1024)
        return refused_value("expected at most 1024 threads in a block, got " + std::to_string(threads));
    const unsigned most = function->dynamic_shared.load(std::memory_order_relaxed);
    if (shape.shared > most)
        return refused_value("expected at most " + std::to_string(most) + " bytes of shared memory, got " +
                             std::to_string(shape.shared));
    return CUDA_SUCCESS;
}

/// Finds the buffer that `extra` may pass instead of kernelParams.
CUresult find_buffer(void** extra, const std::byte*& buffer, std::size_t& bytes) {
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = static_cast<const std::byte*>(extra[1]);
        } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
            bytes = *static_cast<const std::size_t*>(extra[1]);
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return buffer == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult find_parameters(const KernelImage& image, void** given, void** extra, const std::byte** parameters) {
    const std::size_t count = image.offsets.size();
    if (given != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (count == 0) return CUDA_SUCCESS;
    const std::byte* buffer = nullptr;
    std::size_t bytes = 0;
    if (given == nullptr) {
        if (extra == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (CUresult result = find_buffer(extra, buffer, bytes); result != CUDA_SUCCESS) return result;
        if (bytes < image.bytes) return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < count; ++i) {
        parameters[i] =
            given != nullptr ? static_cast<const std::byte*>(given[i]) : buffer + image.offsets[i];
        if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

KernelTask keep_values(const KernelImage& image, const std::byte* const* parameters, const LaunchShape& shape,
                       bool faults) {
    KernelTask task;
    task.name = image.name;
    task.kernel = image.kernel;
    task.shape = shape;
    task.offsets = image.offsets;
    task.values.resize(image.bytes);
    task.faults = faults;
    for (std::size_t i = 0; i < image.offsets.size(); ++i) {
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): find_parameters has filled in as many
        std::memcpy(task.values.data() + image.offsets[i], parameters[i], image.sizes[i]);
    }
    return task;
}

/// Reads the real driver's variable.
bool launches_block() {
    static const bool value = [] {
        const char* text = std::getenv("CUDA_LAUNCH_BLOCKING");
        return text != nullptr && std::strcmp(text, "1") == 0;
    }();
    return value;
}

/// Runs a kernel unless its context is broken. A fault breaks the context.
void run_in(Context* context, const KernelTask& task, std::uint64_t grid) {
    if (const std::uint64_t delay = delay_us().load(std::memory_order_relaxed); delay != 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(delay));
    }
    wait_for_device(context);
    if (context->sticky.load(std::memory_order_acquire) != 0) return;
    const ProfiledKernel profiled(task.name);
    if (!task.run()) fault(context, task.name, grid);
}

/// Preserves errno, which the C library's locks and allocations may set, for programs that check it.
class KeptErrno {
  public:
    KeptErrno() : value_(errno) {}
    ~KeptErrno() { errno = value_; }
    KeptErrno(const KeptErrno&) = delete;
    KeptErrno& operator=(const KeptErrno&) = delete;

  private:
    int value_;
};

CUresult launch(CUfunction handle, const LaunchShape& shape, CUstream stream_handle, void** given,
                void** extra, bool per_thread) {
    const KeptErrno kept;
    const ProfiledCall profiled(kCuLaunchKernel);
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    const Function* function = pools().functions.check(handle);
    const Launchable* what = function;
    if (function == nullptr) what = pools().kernels.check(handle);
    if (what == nullptr || (function != nullptr && function->module->context != context)) {
        return failed(CUDA_ERROR_INVALID_HANDLE, "cuLaunchKernel", "no such function in this context");
    }
    if (CUresult result = check_shape(shape, what); result != CUDA_SUCCESS) return result;
    // A library's kernel runs in the stream's context, whatever the thread's context is.
    if (const Stream* const made = pools().streams.check(stream_handle);
        function == nullptr && made != nullptr)
        context = made->context;
    if (const int broken = context->sticky.load(); broken != 0) return static_cast<CUresult>(broken);
    Stream* stream = nullptr;
    if (CUresult result = find_stream(stream_handle, per_thread, context, stream); result != CUDA_SUCCESS) {
        return result;
    }
    const KernelImage& image = *what->image;
    const std::byte* parameters[64];
    if (CUresult result = find_parameters(image, given, extra, parameters); result != CUDA_SUCCESS)
        return result;
    if (CUresult result = implicit_during_capture(stream); result != CUDA_SUCCESS) return result;

    if (const Refusal* refusal = refused().load(std::memory_order_acquire);
        refusal != nullptr && refusal->kernel == image.name) {
        return failed(refusal->result, "cuLaunchKernel", "the test refuses " + image.name);
    }
    const bool faults = count_launch(image);
    if (stream->captures) {
        return capture_kernel(stream, [context, task = keep_values(image, parameters, shape, faults)](
                                          std::uint64_t grid) { run_in(context, task, grid); });
    }
    const std::uint64_t grid = ++context->grids;
    if (runs_inline()) {
        const ProfiledKernel profiled_kernel(image.name);
        if (faults || !image.kernel(parameters, shape)) fault(context, image.name, grid);
        return CUDA_SUCCESS;
    }
    if (stream->queue->is_held()) note_stalled_kernel({image.name, grid, context});
    const std::uint64_t ticket =
        submit_in_order(stream, [context, grid, task = keep_values(image, parameters, shape, faults)] {
            run_in(context, task, grid);
        });
    if (!launches_block()) return CUDA_SUCCESS;
    stream->queue->wait(ticket);
    return static_cast<CUresult>(context->sticky.load());
}

CUresult launch_host(CUstream handle, CUhostFn function, void* data, bool per_thread) {
    Context* context = nullptr;
    if (CUresult result = enter(context); result != CUDA_SUCCESS) return result;
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    if (CUresult result = find_stream(handle, per_thread, context, stream); result != CUDA_SUCCESS)
        return result;
    if (stream->captures) return capture_task(stream, [function, data] { function(data); });
    if (CUresult result = implicit_during_capture(stream); result != CUDA_SUCCESS) return result;
    submit_in_order(stream, [function, data] { function(data); });
    return CUDA_SUCCESS;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API void fake_cuda_fail_at(uint64_t number) {
    fail_at() = number;
}
FAKE_API uint64_t fake_cuda_launches() {
    return g_launches;
}
FAKE_API uint64_t fake_cuda_fatbin_launches() {
    return g_fatbin_launches;
}
FAKE_API void fake_cuda_delay_us(uint64_t microseconds) {
    delay_us() = microseconds;
}
FAKE_API void fake_cuda_refuse(const char* kernel, int result) {
    static auto* const all = new std::deque<Refusal>;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    refused() =
        kernel == nullptr ? nullptr : &all->emplace_back(Refusal{kernel, static_cast<CUresult>(result)});
}
FAKE_API void fake_cuda_on_launch(void (*callback)(const char*, uint64_t)) {
    g_on_launch = callback;
}

#define FAKE_LAUNCH_FUNCTIONS(suffix, per_thread)                                                 \
    FAKE_API CUresult cuLaunchKernel##suffix(                                                     \
        CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,       \
        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,    \
        CUstream stream, void** parameters, void** extra) {                                       \
        const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};   \
        return launch(function, shape, stream, parameters, extra, per_thread);                    \
    }                                                                                             \
    FAKE_API CUresult cuLaunchCooperativeKernel##suffix(                                          \
        CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,       \
        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,    \
        CUstream stream, void** parameters) {                                                     \
        const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};   \
        return launch(function, shape, stream, parameters, nullptr, per_thread);                  \
    }                                                                                             \
    FAKE_API CUresult cuLaunchKernelEx##suffix(const CUlaunchConfig* config, CUfunction function, \
                                               void** parameters, void** extra) {                 \
        if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {            \
            return is_initialised() ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_INITIALIZED;      \
        }                                                                                         \
        const LaunchShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},           \
                                {config->blockDimX, config->blockDimY, config->blockDimZ},        \
                                config->sharedMemBytes};                                          \
        return launch(function, shape, config->hStream, parameters, extra, per_thread);           \
    }                                                                                             \
    FAKE_API CUresult cuLaunchHostFunc##suffix(CUstream stream, CUhostFn function, void* data) {  \
        return launch_host(stream, function, data, per_thread);                                   \
    }

FAKE_LAUNCH_FUNCTIONS(, false)
FAKE_LAUNCH_FUNCTIONS(_ptsz, true)
