// The current point of a stream from the host's view. Waiting tensors are measured in one launch, before work
// that may change them is enqueued. The point also keeps the run's measurements that may still be valid. The
// end of one call and the start of the next are the same point.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/plain_list.hpp"
#include "shim/measure/gpu.hpp"
#include "shim/measure/known_measurements.hpp"
#include "shim/measure/torch_allocations.hpp"
#include "shim/runtime/stream_key.hpp"

namespace aoti_dbg {

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
    struct Pending : MeasuredTensor {
        std::uint64_t covered_bytes = 0;
        [[nodiscard]] Extent extent() const { return {address, address + covered_bytes}; }
    };
    /// Writes are rarely to constants, so each kind has its own.
    [[nodiscard]] KnownMeasurements& known_like(const PlannedArgument& argument) {
        return argument.is_constant ? known_constants_ : known_;
    }
    [[nodiscard]] const KnownMeasurements& known_like(const PlannedArgument& argument) const {
        return argument.is_constant ? known_constants_ : known_;
    }

    Gpu& gpu_;
    StreamKey key_;
    std::mutex mutex_;
    StatisticsLaunch waiting_;    // the jobs of the pending_ entries that are not sent
    PlainList<Pending> pending_;  // what is measured at this point
    std::size_t sent_ = 0;        // length of the sent prefix of pending_
    KnownMeasurements known_;
    KnownMeasurements known_constants_;
    std::uint32_t known_run_ = ~0U;
};

inline bool StreamPoint::find(const PlannedArgument& argument, const SeenTensor& seen, Requested requested,
                              std::uint32_t run, Measurement& found) const {
    if (run != known_run_) return false;
    // If the allocator is watched, memory has the same contents whatever it is called.
    const bool by_name = !are_allocations_watched();
    if (by_name && (argument.name_number == kNone || argument.makes_anew)) return false;
    return known_like(argument).find(argument, seen, requested, by_name, gpu_.valid_since(), found);
}

}  // namespace aoti_dbg
