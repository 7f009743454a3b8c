#include "shim/measure/gpu.hpp"

#include <sys/mman.h>

#include <new>

namespace aoti_dbg {

bool Gpu::Ring::open(const DriverApi& api) {
    const std::size_t bytes = kPlaces * sizeof(ResultLine);
    // The mapping outlives the context, so results stay readable after the context is destroyed.
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    // A fork's child would otherwise keep its parent's pages, which the device writes to.
    madvise(memory, bytes, MADV_DONTFORK);
    if (!register_memory(api, memory, bytes, device_)) {
        munmap(memory, bytes);
        return false;
    }
    lines_ = static_cast<ResultLine*>(memory);  // zeroed, and no sequence is 0
    return true;
}

std::unique_ptr<Gpu> Gpu::set_up(const DriverApi& api, CUcontext context) {
    std::unique_ptr<Gpu> gpu(new (std::nothrow) Gpu(api, context));
    if (gpu == nullptr) return nullptr;
    const RelaxedCapture relaxed(api);
    const char* failed = gpu->load(statistics_code());
    if (failed == nullptr && !gpu->ring_.open(api)) failed = "the device cannot write to host memory";
    if (failed == nullptr) return gpu;
    gpu->say_why_not(failed);
    return nullptr;
}

}  // namespace aoti_dbg
