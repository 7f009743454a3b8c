// A CUDA context in which one of our kernels runs: our module, the limits of the device, and whether the
// context still works. Measuring (gpu.hpp) and saving (saving_gpu.hpp) each derive from it.
#pragma once

#include <atomic>

#include "shim/runtime/driver_api.hpp"
#include "stats_kernels/device_code.hpp"
#include "stats_kernels/launch_plan.hpp"

namespace aoti_dbg {

/// Returns true for errors that no context survives.
bool is_end_of_context(CUresult result);

/// Maps our memory for device writes in every context. The registration outlives the contexts. Returns false
/// if the driver refuses.
bool register_memory(const DriverApi& api, void* memory, std::size_t bytes, CUdeviceptr& device);

class GpuContext {
  public:
    GpuContext(const GpuContext&) = delete;
    GpuContext& operator=(const GpuContext&) = delete;

    [[nodiscard]] const DriverApi& api() const { return api_; }
    [[nodiscard]] CUcontext context() const { return context_; }
    [[nodiscard]] int device() const { return device_; }
    [[nodiscard]] const DeviceLimits& limits() const { return limits_; }

    /// Launches our kernel with its one parameter, in blocks of kBlockThreads. Where the device can, the
    /// launch lets kernels around it overlap that ask for it (programmatic dependent launch).
    CUresult launch(CUstream stream, std::uint32_t blocks, void* parameter);

    /// Call this when a launch of ours failed. If the context survives, the library warns once and launches
    /// nothing more in it. Otherwise the library waits for no more results there, and prints no warning.
    void note_failure(CUresult result);
    [[nodiscard]] bool has_failed() const { return failed_.load(std::memory_order_acquire); }
    [[nodiscard]] bool is_usable() const { return usable_.load(std::memory_order_relaxed); }
    void give_up() { failed_.store(true, std::memory_order_release); }

  protected:
    /// The purpose in words, as in "to measure" and "are measured".
    struct Purpose {
        const char* infinitive;
        const char* participle;
    };
    GpuContext(const DriverApi& api, CUcontext context, const Purpose& purpose)
        : api_(api), context_(context), purpose_(purpose) {}
    ~GpuContext() = default;

    /// Needs the context to be current. Returns null, or the reason for the failure.
    const char* load(const DeviceCode& code);
    /// Warns that tensors are not measured or saved, and why.
    void say_why_not(const char* why) const;

  private:
    bool load_kernel(const DeviceCode& code);

    const DriverApi& api_;
    CUcontext context_;
    Purpose purpose_;
    CUdevice device_ = 0;
    DeviceLimits limits_;
    CUfunction kernel_ = nullptr;
    std::atomic<bool> overlaps_{false};
    std::atomic<bool> failed_{false};
    std::atomic<bool> usable_{true};
};

}  // namespace aoti_dbg
