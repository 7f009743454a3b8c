#include "shim/runtime/gpu_api.hpp"

#include <atomic>
#include <type_traits>

#include "base/errno_keeper.hpp"
#include "shim/runtime/driver_table.hpp"

namespace aoti_dbg {

const GpuApi* gpu_api() {
    static std::atomic<const GpuApi*> known{nullptr};
    if (const GpuApi* api = known.load(std::memory_order_acquire); api != nullptr) return api;
    GpuApi found;
    const auto find = [](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(other_driver_function(name));
        return function != nullptr;
    };
    bool complete = true;
#define AOTI_DBG_FIND(name) complete = find(found.name, #name) && complete;
    AOTI_DBG_DRIVER_FUNCTIONS(AOTI_DBG_FIND)
#undef AOTI_DBG_FIND
    if (!complete) return nullptr;
    find(found.cuFuncGetParamInfo, "cuFuncGetParamInfo");
    find(found.cuFuncLoad, "cuFuncLoad");
    find(found.cuStreamGetFlags, "cuStreamGetFlags");
    find(found.cuStreamGetCtx, "cuStreamGetCtx");
    find(found.cuStreamWriteValue32_v2, "cuStreamWriteValue32_v2");
    const GpuApi* expected = nullptr;
    const auto* made = new GpuApi(found);
    if (!known.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) {
        delete made;
        return expected;
    }
    return made;
}

std::uint64_t allocation_bytes(std::uint64_t address) {
    using Ask = CUresult(CUdeviceptr*, std::size_t*, CUdeviceptr);
    static auto* const ask = reinterpret_cast<Ask*>(other_driver_function("cuMemGetAddressRange_v2"));
    const ErrnoKeeper errno_keeper;
    std::size_t bytes = 0;
    return ask != nullptr && ask(nullptr, &bytes, address) == CUDA_SUCCESS ? bytes : 0;
}

}  // namespace aoti_dbg
