// The current point of a stream from the host's view. Waiting tensors are measured in one launch, before work
// that may change them is enqueued. The point also keeps the run's measurements that may still be valid. The
// end of one call and the start of the next are the same point.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/measure/gpu.hpp"
#include "shim/measure/kept_constants.hpp"
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

    /// Measures the tensor as it is at this point. Returns nothing if the result ring is full: launch, wait,
    /// then try again.
    std::optional<Measurement> measure(const SeenTensor& seen, Requested requested, std::uint32_t call);

    /// Returns the tensor's measurement from this run, if no call since then declares a write to the tensor.
    std::optional<Measurement> find(const PlannedArgument& argument, const SeenTensor& seen,
                                    Requested requested, std::uint32_t run) const;
    /// Does the same without looking up the tensor: by the name of memory that has been measured as a whole.
    /// Sets `seen` to that tensor.
    std::optional<Measurement> find_named(const PlannedArgument& argument, Requested requested,
                                          std::uint32_t run, SeenTensor& seen) const;
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
    static constexpr std::size_t kAddressPlaces = 256;
    static constexpr std::uint16_t kNoKnown = 0xffff;
    static constexpr std::array<std::uint16_t, kAddressPlaces> no_known() {
        std::array<std::uint16_t, kAddressPlaces> none{};
        none.fill(kNoKnown);
        return none;
    }
    void forget_known(std::size_t i);
    /// Takes the known measurement out of the list of those with its address.
    void unlink_known(std::size_t i);
    void link_known(std::size_t i);
    static std::size_t place_of(std::uint64_t address) {
        return (address >> 8U ^ address >> 14U ^ address >> 21U) % kAddressPlaces;
    }

    /// A tensor and what is measured of it.
    struct Measured {
        std::uint64_t address = 0;
        std::uint64_t covered_bytes = 0;
        std::uint64_t likeness = 0;
        Requested requested = Requested::nothing;
        Measurement measurement;
        const SeenFacts* facts = nullptr;  // of a known one; belongs to the thread of the run
        std::uint16_t older = kNoKnown;    // of a known one: the next one at the same place

        [[nodiscard]] bool is(const SeenTensor& seen, Requested what) const;
        [[nodiscard]] bool overlaps(const MemoryPart& memory) const {
            return address < memory.address + memory.bytes && memory.address < address + covered_bytes;
        }
    };

    Gpu& gpu_;
    StreamKey key_;
    std::mutex mutex_;
    StatisticsLaunch waiting_;                // the jobs of the pending_ entries that are not sent
    std::vector<Measured> pending_;           // what is measured at this point
    std::size_t sent_ = 0;                    // length of the sent prefix of pending_
    std::vector<std::uint32_t> known_names_;  // separate, because every argument searches them
    std::vector<Measured> known_;             // in the same order
    // By address: the newest known measurement, for a run that calls memory by many names.
    std::array<std::uint16_t, kAddressPlaces> newest_known_ = no_known();
    std::uint32_t known_run_ = ~0U;
};

}  // namespace aoti_dbg
