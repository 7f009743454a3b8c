// Everything that measures in a session: contexts, streams, the queue of calls, and the thread that writes
// calls as results arrive. A fork's child has its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "shim/calls/session_part.hpp"
#include "shim/measure/event_queue.hpp"
#include "shim/measure/gpu.hpp"
#include "shim/measure/result_collector.hpp"
#include "shim/measure/stream_point.hpp"
#include "shim/tensors/retired_facts.hpp"

namespace aoti_dbg {

class MeasuredOutput;

class Measurer final : public SessionPart {
  public:
    /// Both must outlive this object.
    Measurer(MeasuredOutput& output, RetiredFacts& facts) : output_(output), facts_(facts) {}

    /// Returns the point of a stream in `context`, or in the calling thread's context if `context` is null.
    /// Returns null if nothing can be measured there. The point's mutex is not held.
    StreamPoint* point_of(CUstream stream, CUcontext context = nullptr);
    /// The last answer for a thread, which is usually also the next one.
    struct FoundPoint {
        CUstream stream = nullptr;
        CUcontext context = nullptr;
        std::uint32_t generation = 0;
        StreamPoint* point = nullptr;
    };
    StreamPoint* point_of(CUstream stream, FoundPoint& last);
    [[nodiscard]] bool is_valid(const FoundPoint& found) const {
        return found.point != nullptr && found.generation == generation_.load(std::memory_order_acquire) &&
               found.point->gpu().is_usable();
    }
    /// Reports a call in order and empties `arguments`. If the queue is full, it waits or drops, as the
    /// options say. Before any wait it launches what waits at `point`, whose mutex must not be held.
    void report(SeenCall& call, SeenArguments& arguments, StreamPoint* point);

    [[nodiscard]] KeptConstants& constants() { return constants_; }
    /// The result of this argument will not arrive. If it is a constant, the next call measures it again.
    void give_up_constant(const SeenArgument& seen) { collector_.give_up_constant(seen); }

    /// Waits until all earlier reports are written. Returns false if a deadline passes first.
    bool wait_until_written();

    /// Call this when there is no room. It launches what waits at `point` and yields to the writer. Returns
    /// false when the caller must give up.
    bool wait_for_room(StreamPoint* point, std::uint32_t& tries);

    // Measures and writes what waits, with a deadline, because the handles may be reused afterwards.
    // Everything is set up again when it is needed.
    void context_ends(CUcontext /*context*/) override { end_contexts(); }
    void device_ends(int /*device*/) override { end_contexts(); }

    void flush_pending();
    void flush_pending_of(CUstream stream);
    void send_pending_of(CUstream stream);
    /// A call allocates the memory. What it writes there is not declared.
    void note_allocation(const MemoryPart& memory);

    /// Writes the remaining calls, with a deadline, and ends the thread.
    void finish() override;
    void append_coverage(CoverageLine& line) const override;

  private:
    // At process exit the driver may be gone already.
    static constexpr std::uint64_t kPatienceAtEnd = 2'000'000'000;
    struct ByKey {
        bool operator()(const StreamKey& one, const StreamKey& other) const;
    };
    bool wait_until_written(std::uint64_t patience);
    void end_contexts();
    /// Calls `what` for each point that CUDA orders with a stream of the current context, with the point
    /// locked.
    void for_points_of(CUstream stream, void (StreamPoint::*what)());
    /// Prints a message and returns false if the thread cannot be created.
    bool start_thread();
    /// Launches what waits at points that no thread has locked.
    void launch_unlocked_points();
    static void* run_thread(void* measurer);
    void drain();
    void flush_output(std::uint64_t done);
    void fetch_ahead() const;
    /// Waits until the results of the call are here, or never will be.
    void collect(const EventQueue::Taken& taken);
    /// Writes a call whose results are collected.
    void write(const EventQueue::Taken& taken);

    MeasuredOutput& output_;
    RetiredFacts& facts_;
    KeptConstants constants_;
    ResultCollector collector_{constants_};
    std::uint64_t ending_since_ = 0;
    std::mutex write_mutex_;
    std::vector<MeasuredArgument> rendered_;  // guarded by write_mutex_, and so is the next
    std::vector<ShortText> texts_;            // of scalars

    std::mutex points_mutex_;                         // for the two maps
    std::map<CUcontext, std::unique_ptr<Gpu>> gpus_;  // null if the setup failed
    std::map<StreamKey, std::unique_ptr<StreamPoint>, ByKey> points_;

    std::atomic<std::uint32_t> generation_{0};  // version of the maps' contents

    std::vector<std::unique_ptr<Gpu>> retired_gpus_;
    std::vector<std::unique_ptr<StreamPoint>> retired_points_;

    EventQueue queue_;
    // Launching threads read these. The counters of the writer follow, on another cache line.
    alignas(kCacheLine) std::atomic<bool> has_thread_{false};
    std::atomic<bool> ending_{false};
    std::atomic<bool> ended_{false};
    std::atomic<std::uint64_t> dropped_{0};
    alignas(kCacheLine) std::atomic<std::uint64_t> done_{0};  // calls of the queue that the output received
    std::atomic<std::uint64_t> written_{0};                   // calls that the output wrote out
};

/// Gives the session its output of measured calls and findings, and what measures, if the options may request
/// findings or statistics.
void start_measuring(Session& session);

}  // namespace aoti_dbg
