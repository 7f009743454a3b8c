// A CUDA context in which one of our kernels runs: our module in it, what its device can hold, and whether
// any good can still come of it. What measures (gpu.hpp) and what saves (saving_gpu.hpp) are such.
#pragma once

#include <atomic>

#include "shim/runtime/gpu_api.hpp"
#include "stats_kernels/device_code.hpp"
#include "stats_kernels/launch_plan.hpp"

namespace aoti_dbg {

/// No context survives such an error.
bool is_end_of_context(CUresult result);

/// Memory of our own that the device writes to, in any context; it outlives them. False where the driver does
/// not take it.
bool register_memory(const GpuApi& api, void* memory, std::size_t bytes, CUdeviceptr& device);

class GpuContext {
  public:
    GpuContext(const GpuContext&) = delete;
    GpuContext& operator=(const GpuContext&) = delete;

    [[nodiscard]] const GpuApi& api() const { return api_; }
    [[nodiscard]] CUcontext context() const { return context_; }
    [[nodiscard]] int device() const { return device_; }
    [[nodiscard]] const DeviceLimits& limits() const { return limits_; }

    /// Our kernel with its one parameter, in blocks of kBlockThreads.
    CUresult launch(CUstream stream, std::uint32_t blocks, void* parameter) const;

    /// A launch of ours failed: nothing of the kind is done here any more, which is said once. After a
    /// failure that the context does not survive no result is waited for either.
    void note_failure(CUresult result);
    [[nodiscard]] bool has_failed() const { return failed_.load(std::memory_order_acquire); }
    [[nodiscard]] bool is_usable() const { return usable_.load(std::memory_order_relaxed); }
    void give_up() { failed_.store(true, std::memory_order_release); }

  protected:
    /// What it is for, as in "to measure" and "are measured".
    struct Purpose {
        const char* infinitive;
        const char* participle;
    };
    GpuContext(const GpuApi& api, CUcontext context, const Purpose& purpose)
        : api_(api), context_(context), purpose_(purpose) {}
    ~GpuContext() = default;

    /// In the context; null, or why it cannot be done.
    const char* load(const DeviceCode& code);
    /// Says why tensors are not measured, or saved.
    void say_why_not(const char* why) const;

  private:
    bool load_kernel(const DeviceCode& code);

    const GpuApi& api_;
    CUcontext context_;
    Purpose purpose_;
    CUdevice device_ = 0;
    DeviceLimits limits_;
    CUfunction kernel_ = nullptr;
    std::atomic<bool> failed_{false};
    std::atomic<bool> usable_{true};
};

}  // namespace aoti_dbg
