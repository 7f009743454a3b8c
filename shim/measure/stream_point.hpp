// The point of a stream that the host has got to: what waits there to be measured, in one launch, before
// anything else is enqueued; and what was measured in this run and may not have changed since. What comes
// after one call and what comes before the next are the same point.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/measure/gpu.hpp"
#include "shim/runtime/stream_key.hpp"
#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

/// Where the result of a measurement will be.
struct Measurement {
    std::uint64_t ticket = 0;  // of its first line
    std::uint32_t blocks = 0;
    std::uint32_t sequence = 0;
    std::uint32_t call = kNoCallNumber;  // that it was measured at
};

class StreamPoint {
  public:
    StreamPoint(Gpu& gpu, const StreamKey& key) : gpu_(gpu), key_(key) {}

    [[nodiscard]] Gpu& gpu() { return gpu_; }
    [[nodiscard]] bool is_capturing() const { return aoti_dbg::is_capturing(gpu_, key_.handle); }
    /// Whether no result is to come any more. Asks the device.
    [[nodiscard]] bool is_done() const { return state_of(gpu_, key_) != StreamState::busy; }

    /// The tensor as it is at this point. Nothing where the results are full: launch, wait, ask again.
    std::optional<Measurement> measure(const SeenTensor& seen, Wanted wanted, std::uint32_t call);

    /// What was measured of it in this run, if nothing has declared to write to it since.
    std::optional<Measurement> find(const PlannedArgument& argument, const SeenTensor& seen, Wanted wanted,
                                    std::uint32_t run) const;
    void remember(const PlannedArgument& argument, const SeenTensor& seen, Wanted wanted, std::uint32_t run,
                  const Measurement& measurement);
    void note_written(const SeenTensor& seen);
    void forget_measured();

    /// Enqueues what waits. The stream is still at this point: what was measured is not measured again. From
    /// any thread; `mutex` must be held, as for all of these.
    void send();
    /// The same, and something comes that may change memory: here the point ends.
    void launch();
    std::mutex& mutex() { return mutex_; }

  private:
    void forget_sent();

    /// A tensor, and what of it is measured; a copy without its facts, which other threads count too.
    struct Measured {
        std::uint64_t address = 0;
        std::uint64_t covered_bytes = 0;
        std::uint64_t facts = 0;  // their number
        Wanted wanted = Wanted::nothing;
        Measurement measurement;

        [[nodiscard]] bool is(const SeenTensor& seen, Wanted what) const;
        [[nodiscard]] bool overlaps(const SeenTensor& seen) const;
    };

    Gpu& gpu_;
    StreamKey key_;
    std::mutex mutex_;
    StatisticsLaunch waiting_;                // its jobs are those of pending_ that are not sent
    std::vector<Measured> pending_;           // what is measured at this point
    std::size_t sent_ = 0;                    // of them, the first
    std::vector<std::uint32_t> known_names_;  // apart, because every argument is looked for
    std::vector<Measured> known_;             // in the same order
    std::uint32_t known_run_ = ~0U;
};

}  // namespace aoti_dbg
