#include "shim/faults/hang_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "serializer/hang.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unwound_calls.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/faults/dump_request.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/faults/hang_file.hpp"
#include "shim/faults/markers_part.hpp"
#include "shim/faults/stalled_streams.hpp"
#include "shim/faults/stalled_threads.hpp"
#include "shim/faults/thread_place.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/own_thread.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
// No thread waits for a look, and a look costs nothing.
constexpr std::uint64_t kBetweenHangLooks = kSecond / 10;

/// Marks the thread's calls at this nesting depth or deeper as unwound. A call that waits is exempt, because
/// exceptions do not unwind it.
void close_calls(ring::Contents& ring, std::uint32_t tid, std::uint32_t depth) {
    for (ring::Thread& thread : ring.threads)
        for (ring::Record& record : thread.records)
            if (thread.tid == tid && !thread.ended && is_open(record) && record.depth >= depth &&
                record.kind != ring::CallKind::wait)
                record.flags |= ring::kUnwoundByException;
}

/// The reported launch and its position.
struct ReportedLaunch {
    UnendedMark at;
    StuckCall stuck;
};

class HangWatch {
  public:
    HangWatch(Session& session, const Options& options)
        : session_(session),
          limit_(options.hang * kSecond),
          then_(options.on_hang),
          streams_(limit_),
          threads_(limit_),
          file_(session.ring()->path()) {}

    void run() {
        std::uint64_t last = monotonic_nanoseconds();
        while (!has_given_up_ && observing() && getpid() == session_.pid()) {
            nap(kBetweenHangLooks);
            const std::uint64_t now = monotonic_nanoseconds();
            // For the rest of the time this thread could not run, or the process was stopped.
            look(std::min(now - last, 2 * kBetweenHangLooks));
            last = now;
            if (then_ != OnHang::report) take_dump_pipe();
        }
    }

  private:
    void look(std::uint64_t elapsed) {
        came_back_ = false;
        if (!threads_.look(session_, elapsed, came_back_)) return;
        note_streams(elapsed);
        const std::vector<std::uint32_t> stuck = threads_.unjudged();
        const bool is_due = !launch_ && !threads_.is_any_reported() && streams_.has_due();
        if (!stuck.empty() || came_back_ || is_due) judge(stuck, is_due);
    }

    void note_streams(std::uint64_t elapsed) {
        CompletionMarkers* const markers = present_markers(session_);
        if (markers == nullptr) return;
        unended_.clear();
        const std::uint64_t ended = markers->look_for_unended(unended_);
        streams_.note(unended_, ended, elapsed);
        if (!launch_ || streams_.stalled_for(launch_->at) != 0) return;
        launch_.reset();
        came_back_ = true;
    }

    /// Reports the candidates that are inside a call, and writes the current hang.
    void judge(const std::vector<std::uint32_t>& candidates, bool is_stream_due) {
        if (CompletionMarkers* const markers = present_markers(session_); markers != nullptr) markers->look();
        Result<ring::Contents> ring = ring::read_flight_ring(session_.ring()->path());
        if (!ring.ok()) {
            message(Severity::warn, "%s. The hang watchdog stops.", ring.status().message().c_str());
            has_given_up_ = true;
            return;
        }
        note_left_calls(ring.value());
        std::vector<std::uint32_t> fresh;
        for (const std::uint32_t tid : candidates)
            if (threads_.judge(tid, ring.value())) fresh.push_back(tid);
        came_back_ |= threads_.forget_outside(ring.value());
        const bool has_fresh_launch = is_stream_due && judge_streams(ring.value());
        const bool is_fresh = has_fresh_launch || !fresh.empty();
        if (!is_fresh && !came_back_) return;
        Hang hang = hang_of(ring.value());
        if (hang.calls.empty()) {
            file_.remove();
            message(Severity::info, "the hang is over: no call or launch is stalled now.");
            return;
        }
        // Write the file before the request to the driver, which may abort the process afterwards.
        hang.is_recorded = is_fresh && is_to_be_recorded(hang);
        const Status written = file_.write(hang);
        if (!is_fresh) return;
        report(hang, fresh, written);
        if (then_ == OnHang::report) return;
        end_it(hang);
    }

    void end_it(Hang& hang) {
        if (then_ == OnHang::abort) abort_follows();
        if (hang.is_recorded) {
            ask_for_record(hang);
        } else if (has_fault_begun()) {
            message(Severity::info, "the driver is writing a GPU core dump of a fault.");
            if (then_ == OnHang::abort) await_record();
        } else if (then_ == OnHang::raise) {
            message(Severity::warn, "AOTI_DBG_ON_HANG=raise has no effect: %s. The program is still hung.",
                    why_not(hang));
        }
        if (then_ != OnHang::abort) return;
        error_message(ErrorCode::aborted_on_hang,
                      "AOTI_DBG_ON_HANG=abort: aborting the program after a hang.");
        remove_dump_pipe();
        abort();
    }

    /// A fault that is being recorded needs no request, because the driver reports it by itself.
    [[nodiscard]] bool is_to_be_recorded(const Hang& hang) const {
        return then_ != OnHang::report && may_be_of_device(hang) && !has_fault_begun() && can_ask_for_dump();
    }
    static const char* why_not(const Hang& hang) {
        if (!may_be_of_device(hang)) return "no stalled call waits for the device";
        return "the driver cannot write a GPU core dump. Possible reasons: AOTI_DBG_TRIAGE is off, another "
               "tool requested core dumps, the context is gone, the driver predates CUDA 12.1, or it wrote "
               "one before";
    }

    /// Requests the record. Afterwards there is nothing left to watch, because the context has failed or the
    /// driver has aborted the process.
    void ask_for_record(Hang& hang) {
        message(Severity::info,
                "the library requests a GPU core dump of what runs on the device. The CUDA context fails as "
                "a result.");
        has_given_up_ = ask_for_dump() && await_record();
        if (has_given_up_) return;
        hang.is_recorded = false;
        static_cast<void>(file_.write(hang));  // a failure was already reported
        message(Severity::warn, "the driver wrote no GPU core dump of what runs on the device.");
    }

    /// Reports the earliest launch, because it may block the others. If a thread waits or polls, that thread
    /// is reported instead when its time comes. A fault is reported by the driver's record.
    bool judge_streams(const ring::Contents& ring) {
        const std::vector<UnendedMark> progress = streams_.ask();
        if (threads_.is_any_reported() || threads_.is_any_asking() || does_any_wait(ring) ||
            has_fault_begun())
            return false;
        std::uint64_t first = UINT64_MAX;
        for (const UnendedMark& at : progress) {
            std::optional<StuckCall> stuck = unawaited_launch(ring, at.mark, at.completed);
            if (!stuck) continue;
            // A launch that the ring has lost came after those that have ended.
            const std::uint64_t launched = std::max(stuck->call.sequence, at.completed + 1);
            if (launched < first) launch_ = ReportedLaunch{at, std::move(*stuck)};
            first = std::min(first, launched);
        }
        return launch_.has_value();
    }

    /// Closes calls that an exception unwound. The ring shows them as open until their thread's next call.
    void note_left_calls(ring::Contents& ring) {
        std::map<std::uint32_t, std::uintptr_t> stacks;
        for (const auto& [tid, seen] : threads_.all())
            if (threads_.hangs(seen)) stacks[tid] = stack_of_blocked(tid);
        session_.for_each_thread([&](const ThreadState& state) {
            const std::uint32_t tid = state.progress.tid.load(std::memory_order_acquire);
            const auto stack = stacks.find(tid);
            if (stack == stacks.end()) return;
            const std::uint32_t depth = open_depth(state, stack->second);
            // A thread whose step count has changed has returned, which the next look sees.
            if (depth < state.depth && state.progress.steps.get() == threads_.all().at(tid).steps)
                close_calls(ring, tid, depth);
        });
    }

    [[nodiscard]] Hang hang_of(const ring::Contents& ring) const {
        Hang hang;
        hang.pid = static_cast<std::uint32_t>(getpid());
        hang.time_ns = unix_nanoseconds();
        for (const auto& [tid, seen] : threads_.all())
            if (seen.is_reported) hang.calls.push_back(stuck_call(ring, tid, seen));
        if (hang.calls.empty() && launch_) {
            hang.calls.push_back(launch_->stuck);
            hang.calls.front().nanoseconds = streams_.stalled_for(launch_->at);
        }
        conclude_hang(ring, hang);
        return hang;
    }

    [[nodiscard]] StuckCall stuck_call(const ring::Contents& ring, std::uint32_t tid,
                                       const SeenThread& seen) const {
        std::vector<StuckCall> open = open_calls(ring, 0, tid);
        StuckCall stuck = open.empty() ? StuckCall{} : std::move(open.front());
        stuck.nanoseconds = seen.stalled_for;
        if (const std::uint64_t asked = seen.asks(limit_); asked != 0) {
            CrashCall question;
            question.name = seen.question->printed;
            question.kind = ring::CallKind::wait;
            question.run = stuck.call.run;
            question.thread = tid;
            question.stream = seen.stream;
            if (!open.empty()) question.inside = call_text(stuck.call);
            stuck.call = std::move(question);
            stuck.asks = true;
            stuck.nanoseconds = asked;
        }
        stuck.place = place_of_thread(tid, seen.stack);
        return stuck;
    }

    void report(const Hang& hang, const std::vector<std::uint32_t>& fresh, const Status& written) const {
        for (const StuckCall& stuck : hang.calls) {
            const bool is_fresh = stuck.is_without_wait ||
                                  std::find(fresh.begin(), fresh.end(), stuck.call.thread) != fresh.end();
            if (!is_fresh) continue;
            const bool is_first = &stuck == &hang.calls.front();
            message(Severity::warn,
                    "hang detected: %s%s. Hang report: %s. To see the stacks, run: gdb -p %u -batch -ex "
                    "'thread apply all bt'",
                    stuck_text(stuck).c_str(), is_first ? unended_text(hang).c_str() : "",
                    written.ok() ? file_.path().c_str() : written.message().c_str(), hang.pid);
        }
    }

    Session& session_;
    const std::uint64_t limit_;
    const OnHang then_;
    StalledStreams streams_;
    StalledThreads threads_;
    std::optional<ReportedLaunch> launch_;
    std::vector<UnendedMark> unended_;  // at this look
    HangFile file_;
    bool came_back_ = false;
    bool has_given_up_ = false;
};

void* run_watch(void* watch) {
    name_own_thread();
    try {
        static_cast<HangWatch*>(watch)->run();
    } catch (...) {
        no_abort_follows();
        message(Severity::warn, "out of memory while watching for hangs. The hang watchdog stops.");
    }
    return nullptr;
}

}  // namespace

void watch_for_hangs(Session& session) {
    if (options().hang == 0) return;
    if (session.ring() == nullptr) {
        return message(Severity::warn,
                       "the hang watchdog is off: AOTI_DBG_HANG needs the flight recorder ring. Set "
                       "AOTI_DBG_RING to a value above 0 and AOTI_DBG_OUT to a writable directory.");
    }
    // This is never freed, because the thread ends with the process.
    auto* const watch = new HangWatch(session, options());
    if (!start_own_thread(run_watch, watch))
        message(Severity::warn,
                "cannot start the thread of the hang watchdog. Hangs are not detected. Check the process "
                "limit (ulimit -u).");
}

}  // namespace aoti_dbg
