// See timeline_part.hpp.
#include "shim/timeline/timeline_part.hpp"

#include <pthread.h>

#include <memory>
#include <new>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/unix_time.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/driver_api.hpp"

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

void say_no_timeline(const Obstacle& obstacle) {
    message(Severity::warn, "no timeline: %s. %s.", obstacle.why, obstacle.remedy);
}

}  // namespace

CuptiRecorder* TimelinePart::start() {
    const RelaxedCapture relaxed(*driver_api());
    const cupti::Api* const api = cupti::find_api();
    if (const Obstacle obstacle = CuptiRecorder::obstacle(api); obstacle.why != nullptr) {
        say_no_timeline(obstacle);
        return nullptr;
    }
    Result<std::unique_ptr<TimelineOutput>> output = TimelineOutput::create(folder_, "cupti");
    if (!output.ok()) {
        message(Severity::warn, "%s. There is no timeline. %s", output.status().message().c_str(),
                remedy_for(output.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
        return nullptr;
    }
    TimelineOutput* const file = output.value().release();
    auto* const recorder = new (std::nothrow) CuptiRecorder(*api, *file);
    const Obstacle obstacle =
        recorder == nullptr ? Obstacle{"out of memory", "Free memory"} : recorder->start();
    if (obstacle.why != nullptr) {
        say_no_timeline(obstacle);
        file->close();
        return nullptr;
    }
    output_.store(file);
    return recorder;
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

void TimelinePart::finish() {
    recorder_.close();
    if (CuptiRecorder* const recorder = recorder_.present(); recorder != nullptr) recorder->finish();
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
