// The hooks of modules, libraries and names of functions, and of the driver's own lookup of entry points.
#include "shim/hooks/driver_call.hpp"  // first, because it configures cuda.h

#include "shim/calls/functions.hpp"
#include "shim/capture/images.hpp"

using namespace aoti_dbg;

namespace {

/// Forwards a call after whose success the library learns something.
template <auto kHook, typename Learn, typename... Arguments>
CUresult forward_then(Learn learn, Arguments... arguments) {
    auto* const real = real_function<kHook>();
    if (real == nullptr) return kNoDriver;
    const CUresult result = real(arguments...);
    if (result == CUDA_SUCCESS && observing()) unless_out_of_memory(learn);
    return result;
}

void forget(const void* owner) {
    if (observing()) unless_out_of_memory([owner] { forget_owner(owner); });
}

template <auto kHook, typename... Arguments>
CUresult forward_lookup(void** function, Arguments... arguments) {
    auto* const real = real_function<kHook>();
    if (real == nullptr) return kNoDriver;
    ensure_process_ready();
    const CUresult result = real(arguments...);
    if (result == CUDA_SUCCESS && function != nullptr) *function = substitute_driver_function(*function);
    return result;
}

/// A captured launch needs the code.
void keep(const CUmodule* module, const void* image) {
    if (options().captures) keep_image(*module, image);
}

}  // namespace

// ---- modules, libraries, and names of functions ----

AOTI_DBG_EXPORT CUresult cuModuleLoad(CUmodule* module, const char* path) {
    const auto learn = [=] {
        if (path == nullptr) return;
        learn_module(*module, path);
        if (options().captures) keep_image_file(*module, path);
    };
    return forward_then<cuModuleLoad>(learn, module, path);
}

AOTI_DBG_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return forward_then<cuModuleLoadData>([=] { keep(module, image); }, module, image);
}

AOTI_DBG_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count,
                                            CUjit_option* options, void** values) {
    return forward_then<cuModuleLoadDataEx>([=] { keep(module, image); }, module, image, count, options,
                                            values);
}

AOTI_DBG_EXPORT CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return forward_then<cuModuleLoadFatBinary>([=] { keep(module, image); }, module, image);
}

AOTI_DBG_EXPORT CUresult cuModuleUnload(CUmodule module) {
    forget(module);
    if (observing() && options().captures) unless_out_of_memory([module] { forget_image(module); });
    return forward_lifecycle<cuModuleUnload>("cuModuleUnload", {AOTI_DBG_CALLER_FRAME}, module);
}

AOTI_DBG_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    const auto learn = [=, caller = __builtin_return_address(0)] {
        if (name != nullptr) learn_function(*function, module, name, caller);
    };
    return forward_then<cuModuleGetFunction>(learn, function, module, name);
}

AOTI_DBG_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
    forget(library);
    return forward_lifecycle<cuLibraryUnload>("cuLibraryUnload", {AOTI_DBG_CALLER_FRAME}, library);
}

AOTI_DBG_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    const auto learn = [=, caller = __builtin_return_address(0)] {
        if (name != nullptr) learn_function(*kernel, library, name, caller);
    };
    return forward_then<cuLibraryGetKernel>(learn, kernel, library, name);
}

AOTI_DBG_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    return forward_then<cuKernelGetFunction>([=] { learn_same(*function, kernel); }, function, kernel);
}

// ---- entry points ----

AOTI_DBG_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                          cuuint64_t flags) {
    return forward_lookup<cuGetProcAddress>(function, symbol, function, version, flags);
}

AOTI_DBG_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                             cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    return forward_lookup<cuGetProcAddress_v2>(function, symbol, function, version, flags, status);
}
