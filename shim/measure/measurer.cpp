#include "shim/measure/measurer.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "config/selection.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/findings/measured_output.hpp"
#include "shim/measure/pending.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/own_thread.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

alignas(kCacheLine) std::atomic<std::uint32_t> g_pending_points{0};

namespace {

// The maximum wait for a device without progress. Either it hangs, or a thread that waits for the library
// blocks it.
constexpr std::uint64_t kPatience = 10'000 * kMillisecond;

// After this time the library asks whether the device is done or dead, because a kernel may run this long.
constexpr std::uint64_t kPatienceWithResult = 2'000 * kMillisecond;

// The sleep of an idle thread. It starts with the duration of a few launches.
constexpr std::uint64_t kShortestNap = kMillisecond / 20;
constexpr std::uint64_t kLongestNap = 5 * kMillisecond;

// After this time the writer launches what a launching thread left waiting.
constexpr std::uint64_t kPatienceWithLaunch = 20 * kMillisecond;

// The hardware prefetcher starts only after it has seen a few lines.
constexpr std::uint32_t kLinesAhead = 16;

/// Sleeps a little longer each time, so that a long wait costs no processor.
class GrowingNap {
  public:
    void take() {
        nap(next_);
        next_ = std::min(next_ + next_ / 8 + 1, kLongestNap);
    }

  private:
    std::uint64_t next_ = kShortestNap;
};

static_assert(RetiredFacts::kCallsKept >= EventQueue::kMostWaiting + 16384);

}  // namespace

void Measurer::report(SeenCall& call, SeenArguments& arguments, StreamPoint* point) {
    if (!has_thread_.load(std::memory_order_acquire)) {
        write({&call, arguments.list, arguments.texts});
        output_.flush();
        arguments.clear();
        return;
    }
    if (point != nullptr) {
        call.point = point;
        call.gpu = &point->gpu();
        call.mark = call.gpu->mark();
    }
    std::uint32_t tries = 0;
    while (!queue_.put(call, arguments)) {
        if (wait_for_room(point, tries)) continue;
        dropped_.fetch_add(1, std::memory_order_relaxed);
        for (const SeenArgument& seen : arguments.list)
            give_up_constant(seen);
        arguments.clear();
        return;
    }
}

bool Measurer::wait_for_room(StreamPoint* point, std::uint32_t& tries) {
    static std::atomic<bool> said{false};
    if (point != nullptr) {
        const std::lock_guard lock(point->mutex());
        point->launch();
    }
    if (options().on_full == OnFull::drop || ended_.load(std::memory_order_acquire)) return false;
    if (!said.exchange(true)) {
        message(Severity::info,
                "results arrive faster than they can be written. The model waits for them. Select fewer "
                "kernels or runs, or set AOTI_DBG_ON_FULL=drop to skip some results.");
    }
    nap(kShortestNap);
    return ++tries < kPatience / kShortestNap;
}

bool Measurer::wait_until_written() {
    return wait_until_written(kPatience);
}

bool Measurer::wait_until_written(std::uint64_t patience) {
    const std::uint64_t until = queue_.puts();
    const std::uint64_t began = monotonic_nanoseconds();
    GrowingNap rest;
    while (has_thread_.load(std::memory_order_acquire) && !ended_.load(std::memory_order_acquire) &&
           written_.load(std::memory_order_acquire) < until) {
        const std::uint64_t waited = monotonic_nanoseconds() - began;
        if (waited >= patience) return false;
        if (waited < kMillisecond)
            sched_yield();
        else
            rest.take();
    }
    return true;
}

bool Measurer::start_thread() {
    if (has_thread_.load(std::memory_order_relaxed)) return true;
    if (!start_own_thread(run_thread, this)) {
        message(Severity::warn,
                "cannot create the thread that waits for the device. Tensors on it are not measured, and "
                "names are printed (level 3). Raise the thread limit (ulimit -u).");
        return false;
    }
    has_thread_.store(true, std::memory_order_release);
    return true;
}

void* Measurer::run_thread(void* measurer) {
    name_own_thread();
    auto& own = *static_cast<Measurer*>(measurer);
    try {
        own.drain();
    } catch (...) {
        switch_off("out of memory while writing results");
    }
    own.ended_.store(true, std::memory_order_release);
    return nullptr;
}

void Measurer::drain() {
    GrowingNap rest;
    for (;;) {
        // This flag is read first. Calls, then the end, can arrive while the disk delays the flush of an
        // empty queue.
        const bool was_ending = ending_.load(std::memory_order_acquire);
        const EventQueue::Taken taken = queue_.take();
        if (taken.call == nullptr) {
            flush_output(done_.load(std::memory_order_relaxed));
            if (was_ending) return;
            rest.take();
            continue;
        }
        rest = {};
        collect(taken);
        write(taken);
        if (taken.call->gpu != nullptr) taken.call->gpu->release(taken.call->mark);
        done_.fetch_add(1, std::memory_order_relaxed);
    }
}

void Measurer::collect(const EventQueue::Taken& taken) {
    const SeenCall& call = *taken.call;
    collector_.begin(taken);
    bool complete = collector_.collect(taken);
    fetch_ahead();
    const std::uint64_t waiting_since = complete ? 0 : monotonic_nanoseconds();
    std::uint64_t launched_at = waiting_since;
    GrowingNap rest;
    for (; !complete; complete = collector_.collect(taken)) {
        if (call.gpu == nullptr || call.gpu->has_failed()) break;
        const std::uint64_t now = monotonic_nanoseconds();
        // The thread that recorded the call may be busy elsewhere for long, or may wait for the library.
        if (now - launched_at > kPatienceWithLaunch) {
            launch_unlocked_points();
            launched_at = now;
        }
        if (now - waiting_since > kPatienceWithResult && call.point->is_done()) break;
        if (ending_.load(std::memory_order_acquire)) {
            if (ending_since_ == 0) ending_since_ = now;
            if (now - ending_since_ > kPatienceAtEnd) {
                call.gpu->give_up();
                break;
            }
        }
        rest.take();
    }
    if (!complete) collector_.collect(taken);
    collector_.end(taken);
}

/// `done` is the number of queued calls that are out after the flush.
void Measurer::flush_output(std::uint64_t done) {
    if (written_.load(std::memory_order_relaxed) == done) return;
    output_.flush();
    written_.store(done, std::memory_order_release);
}

/// Prefetches the lines of the next call while this one is written. No cache has lines that the device wrote.
void Measurer::fetch_ahead() const {
    const EventQueue::Taken next = queue_.peek();
    for (const SeenArgument& seen : next.arguments) {
        if (next.call->gpu == nullptr || seen.on_host != nullptr || seen.measured != Measured::now) continue;
        const ResultLine* lines = next.call->gpu->lines(seen.measurement.ticket);
        for (std::uint32_t i = 0; i < seen.measurement.blocks && i < kLinesAhead; ++i)
            __builtin_prefetch(lines + i);
    }
}

void Measurer::write(const EventQueue::Taken& taken) {
    const std::lock_guard lock(write_mutex_);
    facts_.note_written();
    const std::size_t count = taken.arguments.size();
    // Statistics are large, and only a measured argument needs new ones.
    if (rendered_.size() < count) {
        rendered_.resize(count);
        texts_.resize(count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const SeenArgument& seen = taken.arguments[i];
        MeasuredArgument& argument = rendered_[i];
        argument.facts = seen.facts;
        argument.tensor = seen.tensor;
        argument.scalar = {};
        if (seen.tensor == nullptr) {
            texts_[i] = text_of(seen, taken.texts);
            argument.scalar = texts_[i].view();
        }
        argument.values = {};
        argument.address = seen.address;
        argument.measured = seen.measured;
        argument.why_not = text_of(seen.why_not);
        argument.measured_at = seen.measurement.call;
        if (seen.measured != Measured::now && seen.measured != Measured::earlier) continue;
        if (seen.on_host != nullptr) {
            assign(argument.statistics, seen.on_host->statistics);
            argument.values = seen.on_host->values;
            continue;
        }
        const ResultCollector::Result& collected = collector_.result(i);
        if (collected.state == Gathered::not_yet) {
            argument.measured = Measured::not_yet;
        } else if (collected.state == Gathered::refused) {
            argument.measured = Measured::no;
            argument.why_not = "the driver refused to launch the kernel that measures it";
        } else {
            assign(argument.statistics, collected.statistics);
            argument.values = collected.values;
        }
    }
    const SeenCall& call = *taken.call;
    MeasuredCall measured = call.call;
    const std::span all(rendered_.data(), count);
    measured.arguments = all;
    if (!call.has_both_sides) return output_.take(measured, call.printed, call.check);
    output_.take_both(measured, all.first(call.before), all.subspan(call.before), call.check);
}

void Measurer::finish() {
    if (!has_thread_.load(std::memory_order_acquire)) return;
    launch_unlocked_points();
    ending_.store(true, std::memory_order_release);
    // The thread has its own deadline for the device, and process exit may already have ended it. While
    // it makes progress, only the disk delays it.
    std::uint64_t done = done_.load(std::memory_order_relaxed);
    std::uint64_t since = monotonic_nanoseconds();
    while (!ended_.load(std::memory_order_acquire) && monotonic_nanoseconds() - since < 2 * kPatienceAtEnd) {
        nap(kShortestNap);
        const std::uint64_t now = done_.load(std::memory_order_relaxed);
        if (now != done) since = monotonic_nanoseconds();
        done = now;
    }
    if (const std::uint64_t lost = queue_.puts() - done; lost != 0 && !ended_)
        message(Severity::warn,
                "the results of %llu calls were not written: the thread that writes them made no progress "
                "for 4 s at exit. Check whether the disk is full or hangs.",
                static_cast<unsigned long long>(lost));
}

void Measurer::append_coverage(CoverageLine& line) const {
    line.rest(dropped_.load(std::memory_order_relaxed), "not measured (queue full)",
              "not_measured_for_want_of_room");
}

void start_measuring(Session& session) {
    if (!may_find(options())) return;
    g_pending_points.store(0, std::memory_order_relaxed);  // a forked child has no pending points
    auto output = std::make_unique<MeasuredOutput>(options(), session.folder(), session.log());
    RetiredFacts& facts = session.add(std::make_unique<RetiredFacts>());
    session.add(std::make_unique<Measurer>(*output, facts));
    session.add(std::move(output));
}

// Hooks call the functions below.

namespace {

Measurer* present_measurer() {
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    return session == nullptr ? nullptr : session->part<Measurer>();
}

}  // namespace

void flush_pending() {
    const ErrnoKeeper errno_keeper;
    Measurer* measurer = present_measurer();
    if (measurer != nullptr) measurer->flush_pending();
}

void flush_pending_of(void* stream) {
    const ErrnoKeeper errno_keeper;
    Measurer* measurer = present_measurer();
    if (measurer != nullptr) measurer->flush_pending_of(static_cast<CUstream>(stream));
}

void send_pending_of(void* stream) {
    const ErrnoKeeper errno_keeper;
    Measurer* measurer = present_measurer();
    if (measurer != nullptr) measurer->send_pending_of(static_cast<CUstream>(stream));
}

void note_torch_allocation(std::uint64_t address, std::uint64_t bytes) {
    const ErrnoKeeper errno_keeper;
    ThreadState* const state = thread_state_if_any();
    const OpenCall* const top = state == nullptr ? nullptr : state->top();
    if (top == nullptr || top->kind == ring::CallKind::run) return;
    if (Measurer* const measurer = present_measurer(); measurer != nullptr)
        measurer->note_allocation({address, bytes});
}

}  // namespace aoti_dbg
