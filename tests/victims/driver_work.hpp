// A complete use of the driver, the same however the program found its functions.
#pragma once

#include <initializer_list>

#include "tests/victims/driver_copies.hpp"
#include "tests/victims/driver_user.hpp"

namespace victim {

/// Calls that must fail in the same way.
inline void say_failures(const Driver& driver, CUmodule module, CUfunction function) {
    CUfunction none = nullptr;
    CUmodule missing = nullptr;
    float value = 1;
    std::int32_t count = 1;
    CUdeviceptr nowhere = 0;
    void* parameters[] = {&nowhere, &value, &count};
    say("a function that is not there", driver.cuModuleGetFunction, &none, module, "no_such_kernel");
    say("a file that is not there", driver.cuModuleLoad, &missing, "/nonexistent/x.cubin");
    say("an image that is none", driver.cuModuleLoadData, &missing, static_cast<const void*>("garbage"));
    say("a grid of 0", driver.cuLaunchKernel, function, 0U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{}, parameters,
        nullptr);
    say("no function", driver.cuLaunchKernel, none, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{}, parameters,
        nullptr);
    say("a stream that is none", driver.cuLaunchKernel, function, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
        reinterpret_cast<CUstream>(&value), parameters, nullptr);
    say("no parameters", driver.cuLaunchKernel, function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{}, nullptr,
        nullptr);
    say("no configuration", driver.cuLaunchKernelEx, static_cast<const CUlaunchConfig*>(nullptr), function,
        parameters, nullptr);
    say("no graph", driver.cuGraphLaunch, CUgraphExec{}, CUstream{});
    say("no module to unload", driver.cuModuleUnload, CUmodule{});
    say("no library to unload", driver.cuLibraryUnload, CUlibrary{});
}

/// Passes a CUkernel as a CUfunction, like the CUDA runtime.
inline void say_kernels(const Driver& driver, CUdeviceptr memory) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    must(driver.cuLibraryLoadData(&library, kImage, nullptr, nullptr, 0, nullptr, nullptr, 0),
         "cuLibraryLoadData");
    must(driver.cuLibraryGetKernel(&kernel, library, "fill_kernel"), "cuLibraryGetKernel");
    auto* disguised = reinterpret_cast<CUfunction>(kernel);
    const char* name = nullptr;
    say("the name of a kernel as a function", driver.cuFuncGetName, &name, disguised);
    say("the name of a kernel", driver.cuKernelGetName, &name, kernel);
    std::printf("it is %s\n", name);

    float value = 2.5F;
    std::int32_t count = 4;
    void* parameters[] = {&memory, &value, &count};
    say("launch of a kernel handle", driver.cuLaunchKernel, disguised, 1U, 1U, 1U, 32U, 1U, 1U, 0U,
        CUstream{}, parameters, nullptr);
    float values[4];
    must(driver.cuMemcpyDtoH(values, memory, sizeof(values)), "cuMemcpyDtoH");
    print_floats("filled by a kernel handle", values, 4);

    say("its function", driver.cuKernelGetFunction, &function, kernel);
    value = 3.5F;
    say("launch of its function", driver.cuLaunchKernel, function, 1U, 1U, 1U, 32U, 1U, 1U, 0U, CUstream{},
        parameters, nullptr);
    must(driver.cuMemcpyDtoH(values, memory, sizeof(values)), "cuMemcpyDtoH");
    print_floats("filled by its function", values, 4);
    say("the library goes", driver.cuLibraryUnload, library);
    say("launch of what went with it", driver.cuLaunchKernel, disguised, 1U, 1U, 1U, 32U, 1U, 1U, 0U,
        CUstream{}, parameters, nullptr);
}

inline void say_packed_launch(const Driver& driver, CUfunction fill, CUdeviceptr out) {
    struct {
        CUdeviceptr to;
        float value;
        std::int32_t count;
    } packed = {out, 7, 4};
    std::size_t bytes = sizeof(packed);
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    say("parameters in one buffer", driver.cuLaunchKernel, fill, 1U, 1U, 1U, 32U, 1U, 1U, 0U, CUstream{},
        nullptr, extra);
    float values[4] = {};
    must(driver.cuMemcpyDtoH(values, out, sizeof(values)), "cuMemcpyDtoH");
    print_floats("filled", values, 4);
}

inline void say_launches(const Driver& driver, CUmodule module) {
    CUfunction add = nullptr;
    CUfunction fill = nullptr;
    say("add_kernel", driver.cuModuleGetFunction, &add, module, "add_kernel");
    say("fill_kernel", driver.cuModuleGetFunction, &fill, module, "fill_kernel");
    say_failures(driver, module, add);

    CUdeviceptr a = 0;
    CUdeviceptr b = 0;
    CUdeviceptr out = 0;
    const float left[4] = {1, 2, 3, 4};
    const float right[4] = {10, 20, 30, 40};
    float values[4] = {};
    must(driver.cuMemAlloc(&a, sizeof(left)), "cuMemAlloc");
    must(driver.cuMemAlloc(&b, sizeof(left)), "cuMemAlloc");
    must(driver.cuMemAlloc(&out, sizeof(left)), "cuMemAlloc");
    must(driver.cuMemcpyHtoD(a, left, sizeof(left)), "cuMemcpyHtoD");
    must(driver.cuMemcpyHtoD(b, right, sizeof(right)), "cuMemcpyHtoD");

    CUstream stream = nullptr;
    must(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    std::int32_t count = 4;
    void* parameters[] = {&a, &b, &out, &count};
    say("cuLaunchKernel", driver.cuLaunchKernel, add, 1U, 1U, 1U, 32U, 1U, 1U, 0U, stream, parameters,
        nullptr);
    say("synchronize", driver.cuStreamSynchronize, stream);
    must(driver.cuMemcpyDtoH(values, out, sizeof(values)), "cuMemcpyDtoH");
    print_floats("a + b", values, 4);

    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 32;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    void* again[] = {&out, &b, &out, &count};
    say("cuLaunchKernelEx", driver.cuLaunchKernelEx, static_cast<const CUlaunchConfig*>(&config), add, again,
        nullptr);
    say("cuLaunchCooperativeKernel", driver.cuLaunchCooperativeKernel, add, 1U, 1U, 1U, 32U, 1U, 1U, 0U,
        stream, again);
    say("synchronize", driver.cuStreamSynchronize, stream);
    must(driver.cuMemcpyDtoH(values, out, sizeof(values)), "cuMemcpyDtoH");
    print_floats("a + 3 b", values, 4);

    say_packed_launch(driver, fill, out);
    say_kernels(driver, out);
    must(driver.cuStreamDestroy(stream), "cuStreamDestroy");
    for (CUdeviceptr memory : {a, b, out})
        must(driver.cuMemFree(memory), "cuMemFree");
}

/// Tests a function handle that is reused after its module was unloaded.
inline void say_reused_handle(const Driver& driver) {
    static const char first[] = "AOTI_DBG_FAKE_MODULE\nkernel first_kernel nop\n";
    static const char second[] = "AOTI_DBG_FAKE_MODULE\nkernel second_kernel nop\n";
    CUmodule module = nullptr;
    CUfunction before = nullptr;
    CUfunction after = nullptr;
    must(driver.cuModuleLoadData(&module, first), "cuModuleLoadData");
    must(driver.cuModuleGetFunction(&before, module, "first_kernel"), "cuModuleGetFunction");
    say("launch of the first", driver.cuLaunchKernel, before, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{}, nullptr,
        nullptr);
    must(driver.cuModuleUnload(module), "cuModuleUnload");
    say("launch after its module went", driver.cuLaunchKernel, before, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{},
        nullptr, nullptr);
    must(driver.cuModuleLoadData(&module, second), "cuModuleLoadData");
    must(driver.cuModuleGetFunction(&after, module, "second_kernel"), "cuModuleGetFunction");
    const char* name = nullptr;
    must(driver.cuFuncGetName(&name, after), "cuFuncGetName");
    std::printf("the handle came back: %d, now %s\n", before == after ? 1 : 0, name);
    say("launch of the second", driver.cuLaunchKernel, after, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{}, nullptr,
        nullptr);
    must(driver.cuModuleUnload(module), "cuModuleUnload");
}

/// Tests a fault, the calls after it, and the next context.
inline void say_fault(const Driver& driver, CUcontext primary) {
    CUcontext context = nullptr;
    CUcontext current = nullptr;
    CUmodule module = nullptr;
    CUfunction faulting = nullptr;
    CUfunction empty = nullptr;
    say("another context", driver.cuCtxCreate, &context, 0U, 0);
    must(driver.cuModuleLoadData(&module, kImage), "cuModuleLoadData");
    must(driver.cuModuleGetFunction(&faulting, module, "faulting_kernel"), "cuModuleGetFunction");
    must(driver.cuModuleGetFunction(&empty, module, "empty_kernel"), "cuModuleGetFunction");
    say("launch of what faults", driver.cuLaunchKernel, faulting, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{},
        nullptr, nullptr);
    say("synchronize after the fault", driver.cuCtxSynchronize);
    say("launch after the fault", driver.cuLaunchKernel, empty, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{},
        nullptr, nullptr);
    must(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    std::printf("the context is the one before: %d\n", current == context ? 1 : 0);
    say("the context goes", driver.cuCtxDestroy, context);
    must(driver.cuCtxSetCurrent(primary), "cuCtxSetCurrent");
    say("the first context is whole", driver.cuCtxSynchronize);
}

inline int work(const Driver& driver) {
    int version = 0;
    int count = 0;
    char device[64] = {};
    CUmodule module = nullptr;
    CUcontext primary = nullptr;
    CUcontext current = nullptr;
    say("launch before cuInit", driver.cuLaunchKernel, CUfunction{}, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{},
        nullptr, nullptr);
    say("cuInit with flags", driver.cuInit, 1U);
    say("cuInit", driver.cuInit, 0U);
    say("version", driver.cuDriverGetVersion, &version);
    must(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
    must(driver.cuDeviceGetName(device, sizeof(device), 0), "cuDeviceGetName");
    std::printf("%d, %d device(s), the first a %s\n", version, count, device);
    say("a module without a context", driver.cuModuleLoadData, &module, static_cast<const void*>(kImage));
    say("the primary context", driver.cuDevicePrimaryCtxRetain, &primary, 0);
    must(driver.cuCtxSetCurrent(primary), "cuCtxSetCurrent");
    say("a module", driver.cuModuleLoadData, &module, static_cast<const void*>(kImage));
    say_launches(driver, module);
    say_memory(driver, primary);
    say_reused_handle(driver);
    say_fault(driver, primary);
    must(driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    std::printf("the primary context is current: %d\n", current == primary ? 1 : 0);
    say("the module goes", driver.cuModuleUnload, module);
    say("the primary context goes", driver.cuDevicePrimaryCtxRelease, 0);
    say("synchronize without a context", driver.cuCtxSynchronize);
    return 0;
}

}  // namespace victim
