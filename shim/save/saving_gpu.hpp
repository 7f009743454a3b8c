// A CUDA context from which tensors are saved: our module in it, and a staging buffer that its device writes
// to. Set up once, at the first tensor. After that nothing here allocates or waits for the device.
#pragma once

#include <memory>

#include "shim/runtime/gpu_context.hpp"
#include "shim/save/staging.hpp"

namespace aoti_dbg {

class SavingGpu : public GpuContext {
  public:
    /// Prints a warning and returns null if setup fails. Call this with the context current.
    static std::unique_ptr<SavingGpu> set_up(const DriverApi& api, CUcontext context, std::uint64_t staging);
    ~SavingGpu() = default;

    /// A piece has the result lines of its blocks, followed by its bytes.
    [[nodiscard]] Staging& staging() { return *staging_; }
    /// Returns the device's address of a staged byte.
    [[nodiscard]] std::uint64_t address_of(const std::byte* staged) const {
        return device_ + static_cast<std::uint64_t>(staged - staging_->memory().data());
    }
    /// The most bytes of a piece, a multiple of kHashGroupBytes.
    [[nodiscard]] std::uint64_t most_bytes() const { return most_bytes_; }

  private:
    SavingGpu(const DriverApi& api, CUcontext context) : GpuContext(api, context, {"save", "saved"}) {}

    std::unique_ptr<Staging> staging_;
    CUdeviceptr device_ = 0;
    std::uint64_t most_bytes_ = 0;
};

}  // namespace aoti_dbg
