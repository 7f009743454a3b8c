// The words of one context to which streams write launch numbers, and the record of them
// (completion_markers.hpp explains why).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "serializer/flight_ring_format.hpp"
#include "shim/runtime/driver_api.hpp"

namespace aoti_dbg {

class FlightRing;
struct ThreadState;

/// Prints one message per process, whatever the reason: completion markers are off, or some launches have
/// none.
void say_without_markers(const char* what, const char* why, int error = 0);

/// The progress of a thread's launches on a stream, if some had not ended at the last look.
struct UnendedMark {
    std::uint32_t mark = 0;
    std::uint64_t completed = 0;  // as in ring::MarkedStream
    bool is_uncertain = false;    // the context may be destroyed, with all its work in progress
};

/// This is never freed, because threads and the device may use it.
class MarkedContext {
  public:
    // Each word belongs to one thread and one stream. Words without work in progress are reused for others.
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

    /// Call this once, with the context current. Prints a message if it fails.
    void open(const DriverApi& api, FlightRing& ring, std::uint32_t flags);
    /// Does the same if the context may have been destroyed and its handle reused.
    void open_again(const DriverApi& api);

    /// Enqueues a marker after the thread's launches on the stream. The context must be current and usable.
    void mark(const DriverApi& api, ThreadState& state, CUstream stream, ring::Record& record,
              std::uint64_t seq);
    /// Records that some launch gets no marker.
    void leave_one_out();

    /// Copies what the streams have written to memory that outlives the process.
    void look();
    /// Looks, and appends unfinished launches unless the context has failed. Returns a number that changes
    /// whenever a launch ends.
    std::uint64_t look_for_unended(std::vector<UnendedMark>& unended);
    void note_failure(std::int32_t error);
    /// Call this before the context is or may be destroyed.
    void context_ends();
    void thread_ends(std::uint32_t tid);

  private:
    enum class State { closed, usable, uncertain };
    struct Word;

    [[nodiscard]] std::uint32_t used() const;
    void give_up_launches();
    [[nodiscard]] bool is_mine(std::uint32_t place, std::uint32_t tid, std::uint64_t stream) const;
    [[nodiscard]] bool is_idle(std::uint32_t place) const;
    /// Returns the place for markers of the thread's launches on the stream, or kStreams if there is none.
    /// `known` is the mark that it had there last.
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
    std::atomic<std::uint64_t> over_{0};  // launches up to this seq were lost with a destroyed context
    std::array<std::atomic<std::uint32_t>, kStreams> owners_{};  // thread ids; 0 for a free place
};

}  // namespace aoti_dbg
