// Everything that measures in a session: contexts, streams, the queue of calls, and the thread that writes
// calls as results arrive. Each session has one, and a fork's child has its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "serializer/finding.hpp"
#include "shim/measure/event_queue.hpp"
#include "shim/measure/gpu.hpp"
#include "shim/measure/stream_point.hpp"

namespace aoti_dbg {

/// Receives measured calls, one at a time.
class MeasuredSink {
  public:
    MeasuredSink() = default;
    MeasuredSink(const MeasuredSink&) = delete;
    MeasuredSink& operator=(const MeasuredSink&) = delete;
    virtual ~MeasuredSink() = default;
    virtual void take(const MeasuredCall& call, bool printed, const Check& check) = 0;
    virtual void take(Finding finding) = 0;
    /// The queue is empty, so the sink writes out what it has buffered.
    virtual void flush() = 0;
};

class Measurer {
  public:
    /// `sink` must outlive this object.
    explicit Measurer(MeasuredSink& sink) : sink_(sink) {}
    ~Measurer() = delete;  // threads may be inside it until the process ends

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
    /// Returns the context in which device memory was allocated, or null if it is unknown.
    static CUcontext context_of_memory(std::uint64_t address);

    /// Reports a call in order and empties `arguments`. If the queue is full, it waits or drops, as the
    /// options say. Before any wait it launches what waits at `point`, whose mutex must not be held.
    void report(SeenCall& call, SeenArguments& arguments, StreamPoint* point);

    /// Passes on a finding that needs no measurement. It can overtake calls that were reported earlier.
    void tell(Finding finding);

    /// Waits until all earlier reports are written. Returns false if a deadline passes first.
    bool wait_until_written();

    /// Call this when there is no room. It launches what waits at `point` and yields to the writer. Returns
    /// false when the caller must give up.
    bool wait_for_room(StreamPoint* point, std::uint32_t& tries);

    /// Keeps facts that a reader forgot until neither the queue nor the sink can refer to them.
    void retire(std::vector<FactsPtr> facts);

    /// Call this before contexts are destroyed, because their handles may be reused. It measures and writes
    /// what waits, with a deadline. Everything is set up again when it is needed.
    void end_contexts();

    void flush_pending();
    void flush_pending_of(CUstream stream);
    void send_pending_of(CUstream stream);
    /// Writes the remaining calls, with a deadline, and ends the thread. Nothing is taken afterwards. Returns
    /// false if the sink is still in use; the sink must then stay open. It runs at process exit, possibly in
    /// a signal handler. It must not allocate or wait for a lock without a deadline.
    bool finish();

    [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    // At process exit the driver may be gone already.
    static constexpr std::uint64_t kPatienceAtEnd = 2'000'000'000;
    struct ByKey {
        bool operator()(const StreamKey& one, const StreamKey& other) const;
    };
    bool wait_until_written(std::uint64_t patience);
    /// Calls `what` for each point that CUDA orders with a stream of the current context, with the point
    /// locked.
    void for_points_of(CUstream stream, void (StreamPoint::*what)());
    /// Prints a message and returns false if the thread cannot be created.
    bool start_thread();
    /// Launches what waits at points that no thread has locked.
    void launch_where_nobody_is();
    static void* run_thread(void* measurer);
    void drain();
    void flush_sink(std::uint64_t done);
    void fetch_ahead() const;
    /// Collects the available device results. Returns true when none is missing.
    bool collect(const EventQueue::Taken& taken);
    void write(const EventQueue::Taken& taken);

    struct Collected {
        Gathered state = Gathered::not_yet;
        TensorPartial partial;
        std::vector<std::byte> values;
    };
    /// The result of a tensor that may be reported again.
    struct Remembered {
        const Gpu* gpu = nullptr;
        std::uint64_t ticket = 0;
        std::uint32_t sequence = 0;
        TensorPartial partial;
    };
    void collect_one(Gpu& gpu, const SeenArgument& seen, Collected& to);

    MeasuredSink& sink_;
    std::mutex sink_mutex_;
    std::vector<Collected> collected_;        // for the current call, at least one per argument
    std::vector<Remembered> remembered_;      // by ticket
    std::vector<MeasuredArgument> rendered_;  // guarded by sink_mutex_

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
    alignas(kCacheLine) bool closed_ = false;  // guarded by sink_mutex_
    std::atomic<std::uint64_t> done_{0};       // calls of the queue that the sink received
    std::atomic<std::uint64_t> written_{0};    // calls that the sink wrote out
    std::atomic<std::uint64_t> handed_{0};     // calls to the sink

    struct Retired {
        std::uint64_t until = 0;  // the number of calls to the sink after which `facts` can be freed
        std::vector<FactsPtr> facts;
    };
    std::mutex retired_mutex_;
    std::deque<Retired> retired_facts_;
};

/// Measurer::retire() of the current session.
void retire_facts(std::vector<FactsPtr> facts);

}  // namespace aoti_dbg
