// See cupti_recorder.hpp.
#include "shim/timeline/cupti_recorder.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <span>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/own_thread.hpp"
#include "shim/timeline/other_profilers.hpp"
#include "shim/timeline/timed_wait.hpp"

namespace aoti_dbg {
namespace {

using cupti::Kind;

constexpr Kind kKinds[] = {Kind::kernel, Kind::copy, Kind::set, Kind::copy_between_devices};

std::atomic<CuptiRecorder*> g_recorder{nullptr};
pid_t g_process = 0;  // in a forked child, the recorder is the parent's

CuptiRecorder* recorder() {
    return g_process == getpid() ? g_recorder.load(std::memory_order_acquire) : nullptr;
}

void request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    const ErrnoKeeper errno_keeper;
    *buffer = nullptr;
    *bytes = *most_records = 0;
    if (CuptiRecorder* const now = recorder(); now != nullptr) now->request(buffer, bytes);
}

void complete_buffer(CUctx_st* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*bytes*/,
                     std::size_t used) {
    const ErrnoKeeper errno_keeper;
    CuptiRecorder* const now = recorder();
    if (now == nullptr || buffer == nullptr) return;
    try {
        now->complete(context, stream, buffer, used);
    } catch (...) {
        message(Severity::warn, "out of memory: some kernels are missing from the timeline. Free memory.");
    }
}

void give_way_to_other() {
    const ErrnoKeeper errno_keeper;
    if (CuptiRecorder* const now = recorder(); now != nullptr) now->give_way();
}

// A killed process, or one with a fault on the GPU, loses what was not delivered.
constexpr long kFlushPeriod = 250'000'000;     // ns
constexpr long kLongestFlush = 2'000'000'000;  // at exit

/// Threads that CUPTI starts inherit the mask of signals. They must not run the program's handlers.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        sigdelset(&all, SIGSEGV);
        sigdelset(&all, SIGBUS);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t before_{};
};

Obstacle refusal(const cupti::Api& api, cupti::Status status) {
    const char* words = nullptr;
    if (api.result_string(status, &words) != cupti::kSuccess || words == nullptr) words = "CUPTI fails";
    return {words, "Look up this error in the CUPTI documentation"};
}

void ignore(void* /*data*/, std::uint32_t /*domain*/, std::uint32_t /*id*/, const void* /*call*/) {}

}  // namespace

Obstacle CuptiRecorder::obstacle(const cupti::Api* api) {
    if (api == nullptr)
        return {"CUPTI (libcupti.so) was not found", "Install it (the package nvidia-cuda-cupti)"};
    const char* const injected = std::getenv("CUDA_INJECTION64_PATH");
    if (injected != nullptr && *injected != '\0')
        return {"another profiler is injected (CUDA_INJECTION64_PATH)", "Run without that profiler"};
    void* subscriber = nullptr;
    const cupti::Status status = api->subscribe(&subscriber, reinterpret_cast<void*>(&ignore), nullptr);
    if (status == cupti::kMultipleSubscribers)
        return {"another profiler, such as torch.profiler, uses CUPTI", "Run without that profiler"};
    if (status != cupti::kSuccess) return refusal(*api, status);
    api->unsubscribe(subscriber);
    return {};
}

CuptiRecorder::CuptiRecorder(const cupti::Api& api, TimelineOutput& output) : api_(api), output_(output) {
    sem_init(&finish_, 0, 0);
    sem_init(&finished_, 0, 0);
}

cupti::Status CuptiRecorder::enable() const {
    if (const cupti::Status status = api_.register_callbacks(&request_buffer, &complete_buffer); status != 0)
        return status;
    for (const Kind kind : kKinds)
        if (const cupti::Status status = api_.enable(kind); status != cupti::kSuccess) return status;
    const auto enable_all = [](auto enable_one, std::span<const cupti::Functions> all) {
        // A number that this CUPTI does not know is refused, which is fine.
        for (const cupti::Functions& some : all)
            for (std::uint32_t one = some.first; one <= some.last; ++one)
                enable_one(one, std::uint8_t{1});
    };
    if (api_.enable_driver_function == nullptr || api_.enable_runtime_function == nullptr) {
        const cupti::Status status = api_.enable(Kind::driver_api);
        return status != cupti::kSuccess ? status : api_.enable(Kind::runtime_api);
    }
    enable_all(api_.enable_driver_function, cupti::kDriverFunctions);
    if (!cupti::has_common_correlation(api_))
        enable_all(api_.enable_runtime_function, cupti::kRuntimeFunctions);
    return cupti::kSuccess;
}

void CuptiRecorder::disable() const {
    for (const Kind kind : kKinds)
        api_.disable(kind);
    api_.disable(Kind::driver_api);
    api_.disable(Kind::runtime_api);
}

Obstacle CuptiRecorder::start() {
    const BlockedSignals blocked;
    const std::lock_guard lock(mutex_);
    g_process = getpid();
    g_recorder.store(this, std::memory_order_release);
    if (const cupti::Status status = enable(); status != cupti::kSuccess) {
        disable();
        return refusal(api_, status);
    }
    output_.note_time();
    has_thread_ = start_own_thread(run_thread, this);
    if (!has_thread_) {
        disable();
        return {"cannot start a thread", "Raise the limit of threads (ulimit -u)"};
    }
    watch_for_other_profilers(api_, &give_way_to_other);
    is_on_ = true;
    return {};
}

void* CuptiRecorder::run_thread(void* recorder) {
    name_own_thread();
    static_cast<CuptiRecorder*>(recorder)->run();
    return nullptr;
}

/// Flushes every 0.25 s, so that calls are not overwritten before their work is delivered, and that
/// little is lost if the process is killed.
void CuptiRecorder::run() {
    bool is_over = false;
    while (!is_over) {
        is_over = wait_until(finish_, in_nanoseconds(kFlushPeriod));
        output_.note_time();
        const std::lock_guard lock(mutex_);
        if (is_on_) api_.flush_all(is_over ? cupti::kFlushForced : 0);
    }
    try {
        output_.close();
    } catch (...) {
        message(Severity::warn, "out of memory: the timeline lacks its last kernels. Free memory.");
    }
    sem_post(&finished_);
}

void CuptiRecorder::finish() {
    if (!has_thread_ || recorder() != this) return;
    sem_post(&finish_);
    if (!wait_until(finished_, in_nanoseconds(kLongestFlush)))
        message(Severity::warn, "CUPTI does not respond. The timeline lacks its last kernels.");
}

void CuptiRecorder::give_way() {
    const std::lock_guard lock(mutex_);
    if (!is_on_) return;
    is_on_ = false;
    disable();
    api_.flush_all(cupti::kFlushForced);
    message(Severity::warn,
            "another profiler, such as torch.profiler, starts to use CUPTI. The timeline ends here. For a "
            "full timeline, run without that profiler.");
}

void CuptiRecorder::request(std::uint8_t** buffer, std::size_t* bytes) {
    for (Buffer& one : buffers_) {
        if (one.is_used.exchange(true, std::memory_order_acquire)) continue;
        std::uint8_t* memory = one.memory.load(std::memory_order_relaxed);
        if (memory == nullptr) {
            void* const mapped =
                mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (mapped == MAP_FAILED) {
                one.is_used.store(false, std::memory_order_release);
                return;
            }
            memory = static_cast<std::uint8_t*>(mapped);
            one.memory.store(memory, std::memory_order_relaxed);
        }
        *buffer = memory;
        *bytes = kBufferBytes;
        return;
    }
}

void CuptiRecorder::complete(CUctx_st* context, std::uint32_t stream, std::uint8_t* buffer,
                             std::size_t used) {
    std::size_t dropped = 0;
    if (api_.dropped(context, stream, &dropped) != cupti::kSuccess) dropped = 0;
    if (used != 0 || dropped != 0) {
        output_.note_time();
        output_.take(api_, buffer, used, dropped);
    }
    for (Buffer& one : buffers_)
        if (one.memory.load(std::memory_order_relaxed) == buffer)
            one.is_used.store(false, std::memory_order_release);
}

}  // namespace aoti_dbg
