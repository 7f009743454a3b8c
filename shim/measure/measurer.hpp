// Everything that measures in a session: the contexts and streams it measures on, the queue of what was seen,
// and the thread that writes it out as results arrive. One for a session; a fork's child has another.
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

/// Where measured calls go, one at a time.
class MeasuredSink {
  public:
    MeasuredSink() = default;
    MeasuredSink(const MeasuredSink&) = delete;
    MeasuredSink& operator=(const MeasuredSink&) = delete;
    virtual ~MeasuredSink() = default;
    virtual void take(const MeasuredCall& call, bool printed, const Check& check) = 0;
    virtual void take(Finding finding) = 0;
    /// No more is at hand: what was taken is to go out.
    virtual void flush() = 0;
};

class Measurer {
  public:
    /// `sink` outlives it.
    explicit Measurer(MeasuredSink& sink) : sink_(sink) {}
    ~Measurer() = delete;  // threads may be inside of it until the process ends

    /// The point of a stream in the calling thread's context, or in `context` if that is not null; null where
    /// nothing can be measured. Its mutex is not held.
    StreamPoint* point_of(CUstream stream, CUcontext context = nullptr);
    /// What a thread was told last, which is mostly what it will be told next.
    struct FoundPoint {
        CUstream stream = nullptr;
        CUcontext context = nullptr;
        std::uint32_t generation = 0;
        StreamPoint* point = nullptr;
    };
    StreamPoint* point_of(CUstream stream, FoundPoint& last);
    /// The context in which device memory was allocated; null where that is not known.
    static CUcontext context_of_memory(std::uint64_t address);

    /// Reports a call, in order. `arguments` is emptied. Where the queue is full it waits or drops, as the
    /// options have it; what waits at `point`, whose mutex is not held, is launched before anybody waits for
    /// it.
    void report(SeenCall& call, SeenArguments& arguments, StreamPoint* point);

    /// Hands on a finding that needed no measuring, at once: calls that were reported before may come after
    /// it.
    void tell(Finding finding);

    /// Waits until everything that was reported before has been written out, but not for ever: false where it
    /// was not by then.
    bool wait_until_written();

    /// Called where there is no room: lets what waits at `point` go out, and gives the other side time. False
    /// when it is time to give up.
    bool wait_for_room(StreamPoint* point, std::uint32_t& tries);

    /// What a reader has forgotten: kept until neither the queue nor the sink can refer to it.
    void retire(std::vector<FactsPtr> facts);

    /// Contexts go, and their handles may come back for others: what waits is measured and written out, with
    /// a deadline, and everything is set up anew when it is needed.
    void end_contexts();

    void flush_pending();
    void flush_pending_of(CUstream stream);
    void send_pending_of(CUstream stream);
    /// Writes out what is still to come, with a deadline, and ends the thread. False where the sink is still
    /// in use: then nobody may close it. Nothing is taken afterwards. Called at the end of the process,
    /// perhaps by a signal handler: allocates nothing and waits for no lock without a deadline.
    bool finish();

    [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    struct ByKey {
        bool operator()(const StreamKey& one, const StreamKey& other) const;
    };
    bool wait_until_written(std::uint64_t patience);
    /// The points that CUDA orders with a stream of the current context, one after the other, locked.
    void for_points_of(CUstream stream, void (StreamPoint::*what)());
    /// False where none can be made, which is said.
    bool start_thread();
    /// What waits at points that no thread is busy with.
    void launch_where_nobody_is();
    static void* run_thread(void* measurer);
    void drain();
    void flush_sink(std::uint64_t done);
    void fetch_ahead() const;
    /// What of the device's results is there; true when none is missing.
    bool collect(const EventQueue::Taken& taken);
    void write(const EventQueue::Taken& taken);

    struct Collected {
        Gathered state = Gathered::not_yet;
        TensorPartial partial;
        std::vector<std::byte> values;
    };
    /// What a tensor that is reported again was found to hold.
    struct Remembered {
        const Gpu* gpu = nullptr;
        std::uint64_t ticket = 0;
        std::uint32_t sequence = 0;
        TensorPartial partial;
    };
    void collect_one(Gpu& gpu, const SeenArgument& seen, Collected& to);

    MeasuredSink& sink_;
    std::mutex sink_mutex_;
    std::vector<Collected> collected_;        // of the call at hand, as many as arguments or more
    std::vector<Remembered> remembered_;      // by ticket
    std::vector<MeasuredArgument> rendered_;  // by sink_mutex_

    std::mutex points_mutex_;                         // of the two maps
    std::map<CUcontext, std::unique_ptr<Gpu>> gpus_;  // null: it cannot be set up
    std::map<StreamKey, std::unique_ptr<StreamPoint>, ByKey> points_;

    std::atomic<std::uint32_t> generation_{0};  // of what the maps hold

    std::vector<std::unique_ptr<Gpu>> retired_gpus_;
    std::vector<std::unique_ptr<StreamPoint>> retired_points_;

    EventQueue queue_;
    // What launching threads look at, and then what is counted where calls are written.
    alignas(kCacheLine) std::atomic<bool> has_thread_{false};
    std::atomic<bool> ending_{false};
    std::atomic<bool> ended_{false};
    std::atomic<std::uint64_t> dropped_{0};
    alignas(kCacheLine) bool closed_ = false;  // by sink_mutex_
    std::atomic<std::uint64_t> done_{0};       // calls of the queue that the sink was given
    std::atomic<std::uint64_t> written_{0};    // those that it has written out
    std::atomic<std::uint64_t> handed_{0};     // calls to the sink

    struct Retired {
        std::uint64_t until = 0;  // so many calls were handed to the sink
        std::vector<FactsPtr> facts;
    };
    std::mutex retired_mutex_;
    std::deque<Retired> retired_facts_;
};

/// Measurer::retire() of the present session.
void retire_facts(std::vector<FactsPtr> facts);

}  // namespace aoti_dbg
