// A CUDA context in which tensors are measured: our module in it, the results that its launches write into
// host memory, scratch memory for each stream. Set up once, at the first call of a model in that context;
// after that nothing here allocates or waits for the device.
//
// Results lie in a ring of our own memory, registered with the driver. A ticket is a place in it; the place
// is used again when everything that was reported while it was young has been written out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/measure/gpu_api.hpp"
#include "stats_kernels/device_job.hpp"
#include "stats_kernels/launch_plan.hpp"

namespace aoti_dbg {

/// No context survives such an error.
bool is_end_of_context(CUresult result);

class Gpu {
  public:
    /// Null where it cannot be set up, which is said once.
    static std::unique_ptr<Gpu> set_up(const GpuApi& api, CUcontext context);

    [[nodiscard]] const GpuApi& api() const { return api_; }
    [[nodiscard]] CUcontext context() const { return context_; }
    [[nodiscard]] int device() const { return device_; }
    [[nodiscard]] const DeviceLimits& limits() const { return limits_; }
    [[nodiscard]] CUfunction statistics_kernel() const { return statistics_kernel_; }
    [[nodiscard]] CUfunction values_kernel() const { return values_kernel_; }

    /// A place for a result; nothing as long as the ring is full.
    std::optional<std::uint64_t> take_result() { return results_.take(); }
    std::optional<std::uint64_t> take_values() { return values_.take(); }
    /// Whether what lies at the ticket still will when something that is reported now is written out.
    [[nodiscard]] bool is_young(std::uint64_t result) const { return results_.is_young(result); }

    DeviceResult& result(std::uint64_t ticket) { return results_.at(ticket); }
    DeviceValues& values(std::uint64_t ticket) { return values_.at(ticket); }
    std::uint64_t result_address(std::uint64_t ticket) { return results_.address(ticket); }
    std::uint64_t values_address(std::uint64_t ticket) { return values_.address(ticket); }

    /// How far both rings were taken: to be kept with what is reported, and given back when it is written.
    struct Mark {
        std::uint64_t results = 0;
        std::uint64_t values = 0;
    };
    [[nodiscard]] Mark mark() const { return {results_.taken(), values_.taken()}; }
    void release(const Mark& mark) {
        results_.release(mark.results);
        values_.release(mark.values);
    }

    /// Scratch memory for one stream; 0 where there is none to be had.
    CUdeviceptr take_scratch();

    /// A launch of ours failed: nothing is measured here any more, which is said once. After a failure that
    /// the context does not survive no result is waited for either.
    void note_failure(CUresult result);
    [[nodiscard]] bool has_failed() const { return failed_.load(std::memory_order_acquire); }
    [[nodiscard]] bool is_usable() const { return usable_.load(std::memory_order_relaxed); }
    void give_up() { failed_.store(true, std::memory_order_release); }

  private:
    template <typename Element, std::uint64_t kPlaces>
    class Ring {
      public:
        bool open(const GpuApi& api);
        std::optional<std::uint64_t> take() {
            std::uint64_t ticket = taken_.load(std::memory_order_relaxed);
            do {
                if (ticket >= released_.load(std::memory_order_acquire) + kPlaces / 2) return std::nullopt;
            } while (!taken_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed));
            return ticket;
        }
        [[nodiscard]] bool is_young(std::uint64_t ticket) const { return ticket + kPlaces / 2 > taken(); }
        [[nodiscard]] std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
        void release(std::uint64_t taken_then) { released_.store(taken_then, std::memory_order_release); }
        Element& at(std::uint64_t ticket) { return elements_[ticket % kPlaces]; }
        std::uint64_t address(std::uint64_t ticket) const {
            return device_ + ticket % kPlaces * sizeof(Element);
        }

      private:
        Element* elements_ = nullptr;
        CUdeviceptr device_ = 0;
        std::atomic<std::uint64_t> taken_{0};
        std::atomic<std::uint64_t> released_{0};
    };

    Gpu(const GpuApi& api, CUcontext context) : api_(api), context_(context) {}
    bool load_kernels();
    bool add_scratches(std::size_t count);

    const GpuApi& api_;
    CUcontext context_;
    CUdevice device_ = 0;
    DeviceLimits limits_;
    CUfunction statistics_kernel_ = nullptr;
    CUfunction values_kernel_ = nullptr;
    Ring<DeviceResult, 65536> results_;
    Ring<DeviceValues, 4096> values_;
    std::mutex scratch_mutex_;
    std::vector<CUdeviceptr> scratches_;  // free ones
    std::atomic<bool> failed_{false};
    std::atomic<bool> usable_{true};
};

}  // namespace aoti_dbg
