// The current point of a stream from the host's view. Waiting tensors are measured in one launch, before work
// that may change them is enqueued. The point also keeps the run's measurements that may still be valid. The
// end of one call and the start of the next are the same point.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "base/plain_list.hpp"
#include "shim/measure/gpu.hpp"
#include "shim/measure/kept_constants.hpp"
#include "shim/measure/torch_allocations.hpp"
#include "shim/runtime/stream_key.hpp"
#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

/// The place where the result of a measurement will be.
struct Measurement {
    std::uint64_t ticket = 0;  // of its first line
    std::uint32_t blocks = 0;
    std::uint32_t sequence = 0;
    std::uint32_t call = kNoCallNumber;  // the call that it was measured at
    std::uint32_t kept = kNotKept;       // where its result is kept, or will be if it is measured now
};

struct MemoryPart {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
};

class StreamPoint {
  public:
    StreamPoint(Gpu& gpu, const StreamKey& key) : gpu_(gpu), key_(key) {}

    [[nodiscard]] Gpu& gpu() { return gpu_; }
    [[nodiscard]] bool is_capturing() const { return aoti_dbg::is_capturing(gpu_, key_.handle); }
    /// True if no more results will arrive. It queries the device.
    [[nodiscard]] bool is_done() const { return state_of(gpu_, key_) != StreamState::busy; }

    /// Measures the tensor as it is at this point. Returns false if the result ring is full: launch, wait,
    /// then try again.
    bool measure(const SeenTensor& seen, Requested requested, std::uint32_t call, Measurement& measured);

    /// Finds the tensor's measurement from this run. Returns false if there is none, or if a call since then
    /// declares a write to the tensor.
    bool find(const PlannedArgument& argument, const SeenTensor& seen, Requested requested, std::uint32_t run,
              Measurement& found) const;
    /// Does the same without looking up the tensor: by the name of memory that has been measured as a whole.
    /// Sets `seen` to that tensor. A view shares the name but not the contents, so it is never found.
    bool find_named(const PlannedArgument& argument, Requested requested, std::uint32_t run, SeenTensor& seen,
                    Measurement& found) const;
    void remember(const PlannedArgument& argument, const SeenTensor& seen, Requested requested,
                  std::uint32_t run, const Measurement& measurement);
    void note_written(const SeenTensor& seen);
    void forget_measured();
    /// Forgets what may have been measured by now. What waits for its launch stays known.
    void forget_launched();
    /// Forgets measurements of memory that gets other contents in a way that no call declares.
    void forget_measured_in(const MemoryPart& memory);

    /// True if what is measured here includes memory of this tensor, or if the tensor's extent is unknown.
    [[nodiscard]] bool measures(const SeenTensor& seen) const;
    [[nodiscard]] bool measures(const MemoryPart& memory) const;
    [[nodiscard]] bool is_stream(CUstream stream) const { return key_.handle == stream; }

    /// Enqueues what waits. The stream stays at this point, so a measured tensor is not measured again. Any
    /// thread may call it, but `mutex` must be held, as for all functions here.
    void send();
    /// Does the same and ends the point, because the next work may change memory.
    void launch();
    /// Ends the point, but measurements keep waiting. The next work must not change their memory.
    void pass();
    std::mutex& mutex() { return mutex_; }

  private:
    static constexpr std::size_t kPlaces = 256;
    static constexpr std::uint16_t kNoKnown = 0xffff;
    /// The newest known measurement at each place of a hash table. Each has the number of the next older one.
    using Newest = std::array<std::uint16_t, kPlaces>;
    static constexpr Newest no_known() {
        Newest none{};
        none.fill(kNoKnown);
        return none;
    }
    void forget_known(std::size_t i);
    /// Takes the known measurement out of both tables.
    void unlink_known(std::size_t i);
    void link_known(std::size_t i);
    static std::size_t place_of(std::uint64_t address) {
        return (address >> 8U ^ address >> 14U ^ address >> 21U) % kPlaces;
    }
    static std::size_t place_of_name(std::uint32_t number) { return number % kPlaces; }

    /// Where the memory of a measured tensor begins and ends.
    struct Extent {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        [[nodiscard]] bool overlaps(const MemoryPart& memory) const {
            return begin < memory.address + memory.bytes && memory.address < end;
        }
    };
    /// A tensor and what is measured of it.
    struct Measured {
        std::uint64_t address = 0;
        std::uint64_t likeness = 0;
        Requested requested = Requested::nothing;
        Measurement measurement;

        [[nodiscard]] bool is(const SeenTensor& seen, Requested what) const {
            return address == seen.address && requested == what && likeness == seen.facts->likeness_for(what);
        }
    };
    struct Pending : Measured {
        std::uint64_t covered_bytes = 0;
        [[nodiscard]] Extent extent() const { return {address, address + covered_bytes}; }
    };
    struct Known : Measured {
        std::uint32_t name = kNone;
        const SeenFacts* facts = nullptr;  // null for a view; belongs to the thread of the run
        std::uint16_t older = kNoKnown;    // at the same place of newest_known_
        std::uint16_t older_named = kNoKnown;
    };

    Gpu& gpu_;
    StreamKey key_;
    std::mutex mutex_;
    StatisticsLaunch waiting_;    // the jobs of the pending_ entries that are not sent
    PlainList<Pending> pending_;  // what is measured at this point
    std::size_t sent_ = 0;        // length of the sent prefix of pending_
    PlainList<Known> known_;
    PlainList<Extent> known_extents_;   // of `known_`; separate, because every write searches all
    Newest newest_known_ = no_known();  // by address
    Newest newest_named_ = no_known();  // by name
    std::uint32_t known_run_ = ~0U;
};

inline bool StreamPoint::find(const PlannedArgument& argument, const SeenTensor& seen, Requested requested,
                              std::uint32_t run, Measurement& found) const {
    if (run != known_run_) return false;
    // If the allocator is watched, memory has the same contents whatever it is called.
    const bool by_name = !are_allocations_watched();
    if (by_name && (argument.name_number == kNone || argument.makes_anew)) return false;
    for (std::size_t i = newest_known_[place_of(seen.address)]; i != kNoKnown; i = known_[i].older) {
        const Known& known = known_[i];
        if (!known.is(seen, requested)) continue;
        if (by_name && known.name != argument.name_number) continue;
        if (!gpu_.is_young(known.measurement.ticket)) continue;
        found = known.measurement;
        return true;
    }
    return false;
}

}  // namespace aoti_dbg
