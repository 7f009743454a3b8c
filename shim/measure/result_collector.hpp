// Collects what the device sent for a call of the queue. Belongs to the drain thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/measure/event_queue.hpp"
#include "shim/measure/gpu.hpp"
#include "shim/measure/kept_constants.hpp"
#include "stats_kernels/result_lines.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

/// Copies without the imaginary parts that neither has. Most statistics are of real numbers, and the copy
/// takes half the time.
void assign(TensorStatistics& to, const TensorStatistics& from);

class ResultCollector {
  public:
    explicit ResultCollector(KeptConstants& constants) : constants_(constants) {}

    struct Result {
        Gathered state = Gathered::not_yet;
        TensorStatistics statistics;
        std::vector<std::byte> values;
    };

    /// Forgets the results of the last call.
    void begin(const EventQueue::Taken& taken);
    /// Collects the available results of the call. Returns true when none is missing.
    bool collect(const EventQueue::Taken& taken);
    /// Gives up what is still missing.
    void end(const EventQueue::Taken& taken);

    /// The result of this argument will not arrive. If it is a constant, the next call measures it again.
    void give_up_constant(const SeenArgument& seen);

    [[nodiscard]] const Result& result(std::size_t argument) const { return results_[argument]; }

  private:
    /// The result of a tensor that may be reported again.
    struct Remembered {
        const Gpu* gpu = nullptr;
        std::uint64_t ticket = 0;
        std::uint32_t sequence = 0;
        TensorPartial partial;
        std::uint64_t facts = 0;  // number of those that `statistics` are for; 0: none
        Requested requested = Requested::nothing;
        TensorStatistics statistics;
    };
    void collect_one(Gpu& gpu, const SeenArgument& seen, Result& to);
    /// Returns what the lines add up to, or null if they did not arrive.
    const TensorPartial* collect_lines(Gpu& gpu, const SeenArgument& seen, Result& to);

    KeptConstants& constants_;
    std::vector<Result> results_;         // at least one per argument of the call
    std::vector<Remembered> remembered_;  // by ticket
};

}  // namespace aoti_dbg
