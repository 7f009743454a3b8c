#include "cli/replay/driver_functions.hpp"

#include <dlfcn.h>

#include <type_traits>

namespace aoti_dbg::cli {

const char* find_functions(void* library, DriverFunctions& to) {
    const char* missing = nullptr;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        if (function == nullptr) missing = name;
    };
    // It may be missing.
    find(to.parameter_info, "cuFuncGetParamInfo");
    missing = nullptr;
    find(to.init, "cuInit");
    find(to.device_get, "cuDeviceGet");
    find(to.device_name, "cuDeviceGetName");
    find(to.device_attribute, "cuDeviceGetAttribute");
    find(to.retain, "cuDevicePrimaryCtxRetain");
    find(to.set_current, "cuCtxSetCurrent");
    find(to.load, "cuModuleLoadDataEx");
    find(to.unload, "cuModuleUnload");
    find(to.get_function, "cuModuleGetFunction");
    find(to.set_attribute, "cuFuncSetAttribute");
    find(to.allocate, "cuMemAlloc_v2");
    find(to.release, "cuMemFree_v2");
    find(to.granularity, "cuMemGetAllocationGranularity");
    find(to.reserve, "cuMemAddressReserve");
    find(to.free_reserved, "cuMemAddressFree");
    find(to.create, "cuMemCreate");
    find(to.release_created, "cuMemRelease");
    find(to.map, "cuMemMap");
    find(to.unmap, "cuMemUnmap");
    find(to.set_access, "cuMemSetAccess");
    find(to.fill, "cuMemsetD8_v2");
    find(to.write, "cuMemcpyHtoD_v2");
    find(to.read, "cuMemcpyDtoH_v2");
    find(to.launch, "cuLaunchKernelEx");
    find(to.synchronize, "cuCtxSynchronize");
    find(to.create_event, "cuEventCreate");
    find(to.record_event, "cuEventRecord");
    find(to.destroy_event, "cuEventDestroy_v2");
    find(to.elapsed, "cuEventElapsedTime");
    find(to.error_name, "cuGetErrorName");
    find(to.error_text, "cuGetErrorString");
    return missing;
}

}  // namespace aoti_dbg::cli
