// See timeline_part.hpp.
#include "shim/timeline/timeline_part.hpp"

#include <pthread.h>
#include <unistd.h>

#include <memory>
#include <new>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/unix_time.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/timeline/timed_devices.hpp"
#include "stats_kernels/device_code.hpp"

namespace aoti_dbg {
namespace {

/// Looks for the driver now and then, because that locks the loader and searches folders while the driver is
/// not loaded.
bool has_device(TimedThread& thread, bool is_launch) {
    constexpr std::uint64_t kLookEvery = 100'000'000;
    if (thread.looked_ns != 0 && !is_launch && unix_nanoseconds() - thread.looked_ns < kLookEvery)
        return false;
    const DriverApi* const api = driver_api();
    thread.looked_ns = api == nullptr ? unix_nanoseconds() : 0;
    CUcontext context = nullptr;
    return api != nullptr && api->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr;
}

void say_no_timeline(const Obstacle& obstacle, const char* why_no_markers) {
    message(Severity::warn, "no timeline: %s, and %s. %s.", obstacle.why, why_no_markers, obstacle.remedy);
}

void say_markers(const Obstacle& obstacle) {
    message(
        Severity::warn,
        "markers after the launches measure the timeline, because %s. It has no copies, and the time of a "
        "kernel includes waits. %s.",
        obstacle.why, obstacle.remedy);
}

/// The first session that starts a timeline. A forked child has its own.
std::atomic<bool> g_is_started{false};

}  // namespace

TimelineOutput* TimelinePart::create_output(const char* source) const {
    Result<std::unique_ptr<TimelineOutput>> output = TimelineOutput::create(folder_, source);
    if (output.ok()) {
        output.value()->describe(timed_devices(*driver_api()));
        return output.value().release();
    }
    message(Severity::warn, "%s. There is no timeline. %s", output.status().message().c_str(),
            remedy_for(output.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    return nullptr;
}

CuptiRecorder* TimelinePart::start() {
    const RelaxedCapture relaxed(*driver_api());
    if (g_is_started.exchange(true)) {
        message(Severity::warn, "no timeline in a forked child. Start the child as a new program.");
        return nullptr;
    }
    const cupti::Api* const api = cupti::find_api();
    Obstacle obstacle = CuptiRecorder::obstacle(api);
    if (obstacle.why == nullptr) {
        CuptiRecorder* const recorder = start_cupti(*api, obstacle);
        if (recorder != nullptr || obstacle.why == nullptr) return recorder;
    }
    start_markers(obstacle);
    return nullptr;
}

/// Leaves `obstacle` empty if markers would fail, too.
CuptiRecorder* TimelinePart::start_cupti(const cupti::Api& api, Obstacle& obstacle) {
    TimelineOutput* const file = create_output("cupti");
    if (file == nullptr) return nullptr;
    auto* const recorder = new (std::nothrow) CuptiRecorder(api, *file);
    obstacle = recorder == nullptr ? Obstacle{"out of memory", "Free memory"} : recorder->start();
    if (obstacle.why != nullptr) {
        file->close();
        // The timeline by markers gets the name.
        unlink(file->path());
        return nullptr;
    }
    output_.store(file);
    return recorder;
}

void TimelinePart::start_markers(const Obstacle& obstacle) {
    if (time_code().fatbin.empty()) return say_no_timeline(obstacle, "the library was built without nvcc");
    TimelineOutput* const file = create_output("markers");
    if (file == nullptr) return;
    auto* const recorder = new (std::nothrow) MarkerRecorder(*file);
    if (recorder == nullptr || !recorder->start()) {
        file->close();
        unlink(file->path());
        return say_no_timeline(obstacle, "the system starts no thread");
    }
    say_markers(obstacle);
    output_.store(file);
    markers_.store(recorder, std::memory_order_release);
}

CallTimes* TimelinePart::times_of(TimedThread& thread, bool is_launch) {
    if (thread.is_asked) return thread.times;
    if (!has_device(thread, is_launch)) return nullptr;
    thread.is_asked = true;
    if (recorder_.get([this] { return start(); }) == nullptr) return nullptr;
    thread.times = output_.load()->add_thread(static_cast<std::uint32_t>(pthread_self()), unix_nanoseconds());
    return thread.times;
}

void TimelinePart::thread_ends(const ThreadState& state) {
    const TimedThread* const thread = state.parts.find<TimedThread>();
    if (thread != nullptr && thread->times != nullptr) thread->times->retire(unix_nanoseconds());
}

void TimelinePart::context_ends(CUctx_st* context) {
    if (MarkerRecorder* const recorder = markers(); recorder != nullptr) recorder->end_context(context);
}

void TimelinePart::device_ends(int device) {
    if (MarkerRecorder* const recorder = markers(); recorder != nullptr) recorder->end_contexts_of(device);
}

void TimelinePart::device_context_may_end(int device) {
    if (MarkerRecorder* const recorder = markers(); recorder != nullptr) recorder->context_may_end(device);
}

void TimelinePart::finish() {
    recorder_.close();
    if (CuptiRecorder* const recorder = recorder_.present(); recorder != nullptr) recorder->finish();
    if (MarkerRecorder* const recorder = markers(); recorder != nullptr) recorder->finish();
}

void TimelinePart::append_coverage(CoverageLine& line) const {
    const TimelineOutput* const output = output_.load();
    if (output == nullptr) return;
    const TimelineCounts counts = output->counts();
    line.count("; ", counts.spans, "device span", "device spans");
    line.loss(counts.lost, "device span lost", "device spans lost");
    line.file("timeline", output->path());
}

void start_timeline(Session& session) {
    if (options().timeline && !session.folder().empty())
        session.add(std::make_unique<TimelinePart>(session.folder()));
}

}  // namespace aoti_dbg
