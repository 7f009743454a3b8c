// See marker_recorder.hpp.
#include "shim/timeline/marker_recorder.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <new>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "base/unix_time.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/own_thread.hpp"
#include "shim/runtime/stream_key.hpp"
#include "shim/timeline/timed_wait.hpp"

namespace aoti_dbg {
namespace {

constexpr long kMicrosecond = 1000;  // ns
constexpr std::uint64_t kSecond = 1'000'000'000;

// The sooner the thread sees a time, the better the device's clock is known.
constexpr long kSoon = 50 * kMicrosecond;
constexpr long kOften = long{10 * kMillisecond};
constexpr long kSeldom = long{20 * kMillisecond};  // no launch is under way

constexpr std::size_t kMany = 4096;  // times that arrived since the last look, so that rings may get full

constexpr std::uint64_t kLongestRest = 1'500 * kMillisecond;  // at exit
constexpr std::uint64_t kQuietRest = 50 * kMillisecond;       // without a time that arrives

/// How long the thread sleeps between two looks. It looks very often at first, and for a moment each second.
class LookTimes {
  public:
    long next(std::uint64_t now, std::size_t arrived, bool has_unended) {
        if (is_first_ && arrived != 0) {
            is_first_ = false;
            soon_until_ = now + 100 * kMillisecond;
        }
        if (now < soon_until_ || arrived >= kMany) return kSoon;
        if (arrived == 0 && !has_unended) return kSeldom;
        if (now >= soon_until_ + kSecond) soon_until_ = now + 5 * kMillisecond;
        return kOften;
    }

  private:
    bool is_first_ = true;
    std::uint64_t soon_until_ = monotonic_nanoseconds() + kSecond;
};

}  // namespace

MarkerRecorder::MarkerRecorder(TimelineOutput& output) : output_(output), process_(getpid()) {
    sem_init(&finish_, 0, 0);
    sem_init(&finished_, 0, 0);
}

template <typename Do>
void MarkerRecorder::for_contexts(Do action) const {
    for (const std::atomic<TimedContext*>& one : contexts_)
        if (TimedContext* const context = one.load(std::memory_order_acquire); context != nullptr)
            action(*context);
}

TimedContext* MarkerRecorder::find(CUcontext context) const {
    for (const std::atomic<TimedContext*>& one : contexts_) {
        TimedContext* const there = one.load(std::memory_order_acquire);
        if (there == nullptr || there->is_of(context)) return there;
    }
    return nullptr;
}

void MarkerRecorder::prepare() {
    const DriverApi* const api = driver_api();
    CUcontext context = nullptr;
    if (api == nullptr || api->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return;
    const TimedContext* const there = find(context);
    if (there != nullptr ? !there->is_uncertain() : is_full_.load(std::memory_order_relaxed)) return;
    set_up(*api, context);
}

void MarkerRecorder::set_up(const DriverApi& api, CUcontext context) {
    const std::lock_guard lock(mutex_);
    for (std::atomic<TimedContext*>& one : contexts_) {
        if (TimedContext* const there = one.load(std::memory_order_acquire); there != nullptr) {
            if (there->is_of(context) && (!there->is_uncertain() || there->survives(api))) return;
            continue;
        }
        auto* const added = new (std::nothrow) TimedContext(context);
        if (added == nullptr) return;
        const char* const failed = added->set_up(api);
        one.store(added, std::memory_order_release);
        if (failed != nullptr)
            message(Severity::warn,
                    "the timeline lacks the kernels of CUDA device %d: %s. Install CUPTI (the package "
                    "nvidia-cuda-cupti).",
                    added->device(), failed);
        return;
    }
    is_full_.store(true, std::memory_order_relaxed);
    message(Severity::warn,
            "the timeline lacks kernels, because there are too many contexts. Use fewer, or "
            "install CUPTI (the package nvidia-cuda-cupti).");
}

void MarkerRecorder::mark(CUstream stream, MarkedLaunch launch) {
    const DriverApi* const api = driver_api();
    CUcontext context = nullptr;
    if (is_over_.load(std::memory_order_relaxed) || api == nullptr) return;
    if (api->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return;
    const Capture capture = capture_of(*api, stream);
    // In a graph, the marker would run at each launch of the graph.
    if (capture == Capture::active) return;
    TimedContext* const there = find(context);
    if (there == nullptr) {
        lost_.fetch_add(1, std::memory_order_relaxed);
    } else if (capture == Capture::unknown) {
        there->lose_one();
    } else {
        const StreamKey key = StreamKey::of(context, stream);
        launch.stream = {reinterpret_cast<std::uintptr_t>(key.handle), key.thread};
        there->mark(*api, stream, launch);
    }
}

void MarkerRecorder::end_context(CUcontext context) {
    for_contexts([&](TimedContext& one) {
        if (one.is_of(context)) one.end();
    });
}

void MarkerRecorder::end_contexts_of(int device) {
    for_contexts([&](TimedContext& one) {
        if (one.device() == device) one.end();
    });
}

void MarkerRecorder::context_may_end(int device) {
    for_contexts([&](TimedContext& one) {
        if (one.device() == device) one.may_end();
    });
}

bool MarkerRecorder::start() {
    has_thread_ = start_own_thread(run_thread, this);
    return has_thread_;
}

void* MarkerRecorder::run_thread(void* recorder) {
    name_own_thread();
    prctl(PR_SET_TIMERSLACK, kMicrosecond);
    static_cast<MarkerRecorder*>(recorder)->run();
    return nullptr;
}

void MarkerRecorder::run() {
    try {
        read_until_over();
        read_rest();
        output_.close();
    } catch (...) {
        message(Severity::warn, "out of memory: the timeline lacks its last kernels. Free memory.");
    }
    is_over_.store(true, std::memory_order_relaxed);
    sem_post(&finished_);
}

void MarkerRecorder::read_until_over() {
    LookTimes times;
    std::size_t arrived = 0;
    while (!wait_until(finish_, in_nanoseconds(times.next(monotonic_nanoseconds(), arrived, has_unended()))))
        arrived = read(false);
}

/// What ended before the exit arrives at once. What still runs is lost.
void MarkerRecorder::read_rest() {
    const std::uint64_t begun = monotonic_nanoseconds();
    std::uint64_t last = begun;
    for (std::uint64_t now = begun; now - begun < kLongestRest && now - last < kQuietRest;) {
        if (read(true) != 0) last = now;
        if (!has_unended()) break;
        nap(kSoon);
        now = monotonic_nanoseconds();
    }
    is_over_.store(true, std::memory_order_relaxed);
    std::uint64_t lost = lost_.load(std::memory_order_relaxed);
    for_contexts([&](const TimedContext& one) { lost += one.lost_if_over(); });
    output_.lose(lost);
}

std::size_t MarkerRecorder::read(bool is_over) {
    std::size_t arrived = 0;
    for_contexts([&](TimedContext& one) {
        arrived += one.read(unix_nanoseconds);
        one.take_spans(is_over, unix_nanoseconds(), spans_);
    });
    if (!spans_.empty()) output_.add(spans_);
    spans_.clear();
    return arrived;
}

bool MarkerRecorder::has_unended() const {
    bool any = false;
    for_contexts([&](const TimedContext& one) { any = any || one.has_unended(); });
    return any;
}

void MarkerRecorder::finish() {
    if (!has_thread_ || getpid() != process_) return;
    sem_post(&finish_);
    if (!wait_until(finished_, in_nanoseconds(2 * static_cast<long>(kSecond))))
        message(Severity::warn,
                "the timeline's thread does not answer. The timeline lacks its last kernels.");
}

}  // namespace aoti_dbg
