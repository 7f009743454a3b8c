// A CUDA context in which tensors are measured: our module in it, and the results that its launches write
// into host memory. Set up once, at the first call of a model in that context; after that nothing here
// allocates or waits for the device.
//
// Results are lines in a ring of our own memory, registered with the driver. A ticket is a place in it; the
// place is used again when everything that was reported while it was young has been written out.
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
    /// Null where it cannot be set up, which is said once.
    static std::unique_ptr<Gpu> set_up(const GpuApi& api, CUcontext context);

    /// Places for so many lines, one after the other; nothing as long as the ring is full.
    std::optional<std::uint64_t> take_lines(std::uint32_t count) { return ring_.take(count); }
    /// Whether what lies at the ticket still will when something that is reported now is written out.
    [[nodiscard]] bool is_young(std::uint64_t ticket) const { return ring_.is_young(ticket); }
    ResultLine* lines(std::uint64_t ticket) { return ring_.at(ticket); }
    [[nodiscard]] std::uint64_t lines_address(std::uint64_t ticket) const { return ring_.address(ticket); }

    /// How far the ring was taken: to be kept with what is reported, and given back when it is written.
    [[nodiscard]] std::uint64_t mark() const { return ring_.taken(); }
    void release(std::uint64_t mark) { ring_.release(mark); }

  private:
    class Ring {
      public:
        bool open(const GpuApi& api);
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
        [[nodiscard]] bool is_young(std::uint64_t ticket) const { return ticket + kPlaces / 2 > taken(); }
        [[nodiscard]] std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
        void release(std::uint64_t taken_then) { released_.store(taken_then, std::memory_order_release); }
        ResultLine* at(std::uint64_t ticket) { return &lines_[ticket % kPlaces]; }
        [[nodiscard]] std::uint64_t address(std::uint64_t ticket) const {
            return device_ + ticket % kPlaces * sizeof(ResultLine);
        }

      private:
        // 32 MiB: some twenty runs of a transformer of eight layers.
        static constexpr std::uint64_t kPlaces = std::uint64_t{1} << 19U;
        ResultLine* lines_ = nullptr;
        CUdeviceptr device_ = 0;
        // Apart, since who measures and who writes count each for itself.
        alignas(kCacheLine) std::atomic<std::uint64_t> taken_{0};
        std::atomic<std::uint64_t> free_until_{0};  // by `released_` as it was last looked at
        alignas(kCacheLine) std::atomic<std::uint64_t> released_{0};
    };

    Gpu(const GpuApi& api, CUcontext context) : GpuContext(api, context, {"measure", "measured"}) {}

    Ring ring_;
};

}  // namespace aoti_dbg
