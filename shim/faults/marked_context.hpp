// The words of one context to which streams write the numbers of launches, and what is on record of them
// (completion_markers.hpp says what for).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "serializer/flight_ring_format.hpp"
#include "shim/runtime/gpu_api.hpp"

namespace aoti_dbg {

class FlightRing;
struct ThreadState;

/// Once, whatever it is: "completion markers are off", or are so for some launches, and why.
void say_without_markers(const char* what, const char* why, int error = 0);

/// What of a thread's launches on a stream had ended when it was looked at, as long as not all had.
struct UnendedMark {
    std::uint32_t mark = 0;
    std::uint64_t completed = 0;  // ring::MarkedStream
    bool is_uncertain = false;    // its context may have gone, and with it all that was under way
};

/// Never freed: threads and the device may be at it.
class MarkedContext {
  public:
    // Of a thread and a stream each. Those where nothing is under way are given to others.
    static constexpr std::uint32_t kStreams = 512;

    /// `first` is the mark of its first stream.
    MarkedContext(CUcontext context, std::uint32_t first) : context_(context), first_(first) {}

    [[nodiscard]] bool is_of(CUcontext context) const {
        return context_.load(std::memory_order_acquire) == context;
    }
    [[nodiscard]] bool is_usable() const { return state_.load(std::memory_order_acquire) == State::usable; }
    [[nodiscard]] bool is_uncertain() const {
        return state_.load(std::memory_order_acquire) == State::uncertain;
    }

    /// In the context, once. Says why not.
    void open(const GpuApi& api, FlightRing& ring, std::uint32_t flags);
    /// The same where the context may have gone, and another one come with its handle.
    void open_again(const GpuApi& api);

    /// In the context, when it is usable: behind what the thread has launched on that stream.
    void mark(const GpuApi& api, ThreadState& state, CUstream stream, ring::Record& record,
              std::uint64_t seq);
    /// Some launch gets no marker.
    void leave_one_out();

    /// Copies what was written to where it outlives the process.
    void look();
    /// Looks, and adds what has not ended, but for a context that has failed. Returns a number that changes
    /// whenever a launch ends.
    std::uint64_t look_for_unended(std::vector<UnendedMark>& unended);
    void note_failure(std::int32_t error);
    /// The context goes, or may.
    void context_goes();
    void thread_ends(std::uint32_t tid);

  private:
    enum class State { closed, usable, uncertain };
    struct Word;

    [[nodiscard]] std::uint32_t used() const;
    void give_up_launches();
    [[nodiscard]] bool is_mine(std::uint32_t place, std::uint32_t tid, std::uint64_t stream) const;
    [[nodiscard]] bool is_idle(std::uint32_t place) const;
    /// Where the thread's launches on that stream are marked; kStreams where there is no place. `known`: the
    /// mark that it had there last.
    std::uint32_t place_of(std::uint32_t tid, std::uint64_t stream, std::uint64_t seq, std::uint32_t known);
    bool take(std::uint32_t place, std::uint32_t owner, std::uint32_t tid, std::uint64_t stream,
              std::uint64_t seq);

    std::atomic<CUcontext> context_;
    const std::uint32_t first_;
    std::atomic<State> state_{State::closed};
    Word* words_ = nullptr;
    CUdeviceptr device_ = 0;
    ring::MarkersHeader* header_ = nullptr;
    ring::MarkedStream* streams_ = nullptr;
    std::atomic<std::uint32_t> used_{0};
    std::atomic<std::uint64_t> over_{0};  // a context that has gone took along launches up to this seq
    std::array<std::atomic<std::uint32_t>, kStreams> owners_{};  // thread ids; 0: nobody's
};

}  // namespace aoti_dbg
