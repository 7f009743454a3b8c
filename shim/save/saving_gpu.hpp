// A CUDA context from which tensors are saved: our module in it, and staging that its device writes to. Set
// up once, at the first tensor; after that nothing here allocates or waits for the device.
#pragma once

#include <memory>

#include "shim/runtime/gpu_context.hpp"
#include "shim/save/staging.hpp"

namespace aoti_dbg {

class SavingGpu : public GpuContext {
  public:
    /// Null where it cannot be set up, which is said. In the context.
    static std::unique_ptr<SavingGpu> set_up(const GpuApi& api, CUcontext context, std::uint64_t staging);
    ~SavingGpu() = default;

    /// Of a piece: lines of the blocks that bring it, and behind them its bytes.
    [[nodiscard]] Staging& staging() { return *staging_; }
    /// As the device knows it.
    [[nodiscard]] std::uint64_t address_of(const std::byte* staged) const {
        return device_ + static_cast<std::uint64_t>(staged - staging_->memory().data());
    }
    /// No piece has more bytes; a multiple of a group's.
    [[nodiscard]] std::uint64_t most_bytes() const { return most_bytes_; }

  private:
    SavingGpu(const GpuApi& api, CUcontext context) : GpuContext(api, context, {"save", "saved"}) {}

    std::unique_ptr<Staging> staging_;
    CUdeviceptr device_ = 0;
    std::uint64_t most_bytes_ = 0;
};

}  // namespace aoti_dbg
