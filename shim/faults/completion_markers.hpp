// After each recorded launch, its stream writes the launch's number to host memory (cuStreamWriteValue32).
// After a failure or during a hang, these words show exactly which launches have ended
// (serializer/ended_launches). Marking makes one driver call and some queries per launch. In steady state it
// must not lock or allocate. If the driver refuses, marking stops in that context, and the program never sees
// the error.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "serializer/flight_ring_format.hpp"
#include "shim/faults/fault_watch.hpp"
#include "shim/faults/marked_context.hpp"
#include "shim/runtime/driver_api.hpp"

namespace aoti_dbg {

class FlightRing;
class Session;
struct Options;
struct ThreadState;

/// True if the value of CUDA_LAUNCH_BLOCKING makes launches return only when their kernels have ended.
bool is_blocking(const char* launch_blocking);

/// True if launches need markers. `launch_blocking` is the value of CUDA_LAUNCH_BLOCKING.
bool wants_markers(const Options& options, DumpOfFault dump, const char* launch_blocking);

/// The markers of one session. It is never freed, because threads may be inside.
/// Each thread has its own word per stream, so numbers in a word only rise without any order between threads.
/// A captured launch gets no marker. A graph launch gets one after the graph.
class CompletionMarkers {
  public:
    CompletionMarkers(FlightRing& ring, DumpOfFault dump);
    CompletionMarkers(const CompletionMarkers&) = delete;
    CompletionMarkers& operator=(const CompletionMarkers&) = delete;

    /// Call this before the calling thread launches on the stream. A context still exists then, even if the
    /// launch destroys it. It allocates the first time in each context.
    void prepare(CUstream stream);

    /// Call this after the calling thread's innermost call, `seq`, launched successfully on that stream of
    /// its context. Returns the ring::RecordFlags for its record.
    std::uint8_t mark(ThreadState& state, CUstream stream, ring::Record* record, std::uint64_t seq);

    /// Copies what the streams have written to memory that outlives the process. Any thread may call it; it
    /// does not call the driver.
    void look();
    /// Does the same and appends unfinished launches. Returns a number that changes whenever a launch ends.
    std::uint64_t look_for_unended(std::vector<UnendedMark>& unended);

    /// Records an error that the calling thread's context does not survive.
    void note_failure(std::int32_t error);

    /// Call this before a context is or may be destroyed. Null means any context.
    void context_ends(CUcontext context);

    /// The thread with that number launches no more.
    void thread_ends(std::uint32_t tid);

  private:
    [[nodiscard]] MarkedContext* find(CUcontext context) const;
    void set_up(const DriverApi& api, CUcontext context);

    // Launches in further contexts have no markers.
    static constexpr std::size_t kMostContexts = 64;

    FlightRing& ring_;
    const std::uint32_t flags_;
    std::mutex mutex_;  // for setting up a context
    std::atomic<bool> is_full_{false};
    std::array<std::atomic<MarkedContext*>, kMostContexts> contexts_{};
};

/// Call this after a launch of the calling thread whose call began at `frame`. It marks the launch, or
/// records the failure of its context. Returns the flags for the record.
std::uint8_t mark_launch(CompletionMarkers& markers, ThreadState& state, std::uintptr_t frame,
                         CUstream stream, std::int32_t result);

/// Records the result of a call that is not a launch.
void note_result(Session& session, std::int32_t result);

/// Does the same for a call without a record.
void note_unrecorded_result(std::int32_t result);

/// Call this before a context is or may be destroyed. Null means any context.
void end_marked_context(CUcontext context);

}  // namespace aoti_dbg
