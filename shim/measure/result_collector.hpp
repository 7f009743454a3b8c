// Collects what the device sent for the calls of the queue. Collected results wait in a ring until their
// calls are written, which another thread may do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cache_line.hpp"
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

    // The collecting thread calls these.

    /// Makes room for the results of the next call. Returns false while too many others wait.
    bool begin(const EventQueue::Taken& taken);
    /// Collects the available results of the call. Returns true when none is missing.
    bool collect(const EventQueue::Taken& taken);
    /// Gives up what is still missing.
    void end(const EventQueue::Taken& taken);

    /// The result of this argument will not arrive. If it is a constant, the next call measures it again.
    void give_up_constant(const SeenArgument& seen);

    // The writing thread calls these.

    /// Returns the result of an argument of the first call that release() has not released.
    [[nodiscard]] const Result& result(std::size_t argument) const {
        return ring_[(released_.load(std::memory_order_relaxed) + argument) % ring_.size()];
    }
    void release(std::size_t arguments) {
        released_.store(released_.load(std::memory_order_relaxed) + arguments, std::memory_order_release);
    }

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
    Result& mine(std::size_t argument) { return ring_[(first_ + argument) % ring_.size()]; }
    void collect_one(Gpu& gpu, const SeenArgument& seen, Result& to);
    /// Returns what the lines add up to, or null if they did not arrive.
    const TensorPartial* collect_lines(Gpu& gpu, const SeenArgument& seen, Result& to);

    KeptConstants& constants_;
    std::vector<Result> ring_;
    std::uint64_t first_ = 0;                                     // argument of the current call, by number
    std::uint64_t next_ = 0;                                      // argument of the next call
    std::vector<Remembered> remembered_;                          // by ticket
    alignas(kCacheLine) std::atomic<std::uint64_t> released_{0};  // arguments whose calls are written
};

}  // namespace aoti_dbg
