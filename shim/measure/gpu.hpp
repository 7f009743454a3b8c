// A CUDA context in which tensors are measured: the library's module in it and the results that launches
// write to host memory. It is set up at the first call of a model in the context. After that it must not
// allocate or wait for the device.
// Results are lines in a ring of host memory that is registered with the driver. A ticket is a position in
// the ring. A position is reused once all reports from the time when it was young are written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/cache_line.hpp"
#include "shim/runtime/gpu_context.hpp"
#include "stats_kernels/result_lines.hpp"

namespace aoti_dbg {

class Gpu : public GpuContext {
  public:
    /// Returns null and prints a message once if the setup fails.
    static std::unique_ptr<Gpu> set_up(const DriverApi& api, CUcontext context);

    /// Returns consecutive positions for `count` lines, or nothing while the ring is full.
    std::optional<std::uint64_t> take_lines(std::uint32_t count) { return ring_.take(count); }
    /// The lines at this ticket and later ones stay valid until a report from now is written.
    [[nodiscard]] std::uint64_t valid_since() const { return ring_.valid_since(); }
    ResultLine* lines(std::uint64_t ticket) { return ring_.at(ticket); }
    [[nodiscard]] std::uint64_t lines_address(std::uint64_t ticket) const { return ring_.address(ticket); }

    /// Returns how far the ring is taken. The caller stores the mark with a report and releases it when the
    /// report is written.
    [[nodiscard]] std::uint64_t mark() const { return ring_.taken(); }
    void release(std::uint64_t mark) { ring_.release(mark); }

  private:
    class Ring {
      public:
        bool open(const DriverApi& api);
        std::optional<std::uint64_t> take(std::uint32_t count) {
            std::uint64_t taken = taken_.load(std::memory_order_relaxed);
            for (;;) {
                std::uint64_t first = taken;
                if (first % kPlaces + count > kPlaces) first += kPlaces - first % kPlaces;
                if (first + count > free_until_.load(std::memory_order_acquire)) {
                    const std::uint64_t until = released_.load(std::memory_order_acquire) + kPlaces / 2;
                    if (first + count > until) return std::nullopt;
                    free_until_.store(until, std::memory_order_release);
                }
                if (taken_.compare_exchange_weak(taken, first + count, std::memory_order_relaxed))
                    return first;
            }
        }
        [[nodiscard]] std::uint64_t valid_since() const {
            const std::uint64_t taken_by_now = taken();
            return taken_by_now < kPlaces / 2 ? 0 : taken_by_now - kPlaces / 2 + 1;
        }
        [[nodiscard]] std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
        void release(std::uint64_t taken_then) { released_.store(taken_then, std::memory_order_release); }
        ResultLine* at(std::uint64_t ticket) { return &lines_[ticket % kPlaces]; }
        [[nodiscard]] std::uint64_t address(std::uint64_t ticket) const {
            return device_ + ticket % kPlaces * sizeof(ResultLine);
        }

      private:
        // 32 MiB is enough for about twenty runs of a transformer with eight layers.
        static constexpr std::uint64_t kPlaces = std::uint64_t{1} << 19U;
        ResultLine* lines_ = nullptr;
        CUdeviceptr device_ = 0;
        // Separate cache lines, because the measuring threads and the writer each update their own counter.
        alignas(kCacheLine) std::atomic<std::uint64_t> taken_{0};
        std::atomic<std::uint64_t> free_until_{0};  // computed from the last known `released_`
        alignas(kCacheLine) std::atomic<std::uint64_t> released_{0};
    };

    Gpu(const DriverApi& api, CUcontext context) : GpuContext(api, context, {"measure", "measured"}) {}

    Ring ring_;
};

}  // namespace aoti_dbg
