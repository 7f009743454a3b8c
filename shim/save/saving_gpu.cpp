#include "shim/save/saving_gpu.hpp"

#include <new>

#include "stats_kernels/save_job.hpp"

namespace aoti_dbg {

std::unique_ptr<SavingGpu> SavingGpu::set_up(const DriverApi& api, CUcontext context, std::uint64_t staging) {
    std::unique_ptr<SavingGpu> gpu(new (std::nothrow) SavingGpu(api, context));
    if (gpu == nullptr) return nullptr;
    const RelaxedCapture relaxed(api);
    if (const char* failed = gpu->load(save_code()); failed != nullptr) {
        gpu->say_why_not(failed);
        return nullptr;
    }
    gpu->staging_ = Staging::make(staging);
    const auto memory = gpu->staging_ == nullptr ? std::span<std::byte>() : gpu->staging_->memory();
    if (memory.empty() || !register_memory(api, memory.data(), memory.size(), gpu->device_)) {
        gpu->say_why_not("the device cannot write to the staging buffer (AOTI_DBG_STAGING)");
        return nullptr;
    }
    const std::uint64_t most = gpu->staging_->most();
    const std::uint64_t lines = blocks_to_save(most, true, gpu->limits()) * sizeof(ResultLine);
    gpu->most_bytes_ = (most - lines) / kHashGroupBytes * kHashGroupBytes;
    return gpu;
}

}  // namespace aoti_dbg
