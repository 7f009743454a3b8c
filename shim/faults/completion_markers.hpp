// Completion markers: behind each launch that is on record its stream writes the launch's number into memory
// of ours, by cuStreamWriteValue32. What stands there when a context has failed, or while a program hangs,
// says which launches have ended, exactly (serializer/ended_launches).
//
// Each thread has a word of its own for each stream that it launches on, so that numbers in a word only rise,
// without any order between threads. A launch that is captured gets no marker, a graph one behind it. In
// steady state that is one call of the driver besides some that only ask: no lock, no allocation.
//
// A driver that refuses is left alone from then on in that context; whatever it returns is kept from the
// program.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "serializer/flight_ring_format.hpp"
#include "shim/faults/fault_watch.hpp"
#include "shim/faults/marked_context.hpp"
#include "shim/runtime/gpu_api.hpp"

namespace aoti_dbg {

class FlightRing;
class Session;
struct Options;
struct ThreadState;

/// Whether launches come back when their kernels have ended, by the value of CUDA_LAUNCH_BLOCKING.
bool is_blocking(const char* launch_blocking);

/// Whether launches are to be marked. `launch_blocking` is the value of CUDA_LAUNCH_BLOCKING.
bool wants_markers(const Options& options, DumpOfFault dump, const char* launch_blocking);

/// Of one session. Never freed: threads may be inside.
class CompletionMarkers {
  public:
    CompletionMarkers(FlightRing& ring, DumpOfFault dump);
    CompletionMarkers(const CompletionMarkers&) = delete;
    CompletionMarkers& operator=(const CompletionMarkers&) = delete;

    /// The calling thread is about to launch on that stream: now there is still a context, in whatever end
    /// the launch may come to. The first time in each it allocates.
    void prepare(CUstream stream);

    /// The calling thread's innermost call, `seq`, has launched on that stream of its context, and has come
    /// back with success. Returns what is to be on record of it, as ring::RecordFlags.
    std::uint8_t mark(ThreadState& state, CUstream stream, ring::Record* record, std::uint64_t seq);

    /// Copies what the streams have written to where it outlives the process. Any thread; asks no driver.
    void look();
    /// The same, and adds what has not ended. Returns a number that changes whenever a launch ends.
    std::uint64_t look_for_unended(std::vector<UnendedMark>& unended);

    /// A call has returned an error that the calling thread's context does not survive.
    void note_failure(std::int32_t error);

    /// A context is about to go, or may be: that one, or any for null.
    void context_goes(CUcontext context);

    /// The thread of that number launches no more.
    void thread_ends(std::uint32_t tid);

  private:
    [[nodiscard]] MarkedContext* find(CUcontext context) const;
    void set_up(const GpuApi& api, CUcontext context);

    // Programs with more contexts have no markers in the others.
    static constexpr std::size_t kMostContexts = 64;

    FlightRing& ring_;
    const std::uint32_t flags_;
    std::mutex mutex_;  // who sets a context up
    std::atomic<bool> is_full_{false};
    std::array<std::atomic<MarkedContext*>, kMostContexts> contexts_{};
};

/// After a launch of the calling thread's, whose call was begun at `frame`: marks it, or sees that its
/// context has failed. Returns what is to be on record of it.
std::uint8_t mark_launch(CompletionMarkers& markers, ThreadState& state, std::uintptr_t frame,
                         CUstream stream, std::int32_t result);

/// A call that is no launch has returned that.
void note_result(Session& session, std::int32_t result);

/// The same of a call that is not on record.
void note_unrecorded_result(std::int32_t result);

/// A context is about to go, or may be: that one, or any for null.
void end_marked_context(CUcontext context);

}  // namespace aoti_dbg
