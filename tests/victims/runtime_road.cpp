// Reaches the driver like libcudart: dlsym returns cuGetProcAddress_v2, that returns cuGetProcAddress, and
// that returns every function. It does so once for the legacy and once for the per-thread default stream.
#include <dlfcn.h>

#include <thread>

#include "tests/victims/driver_work.hpp"

namespace {

using LookUp = decltype(&::cuGetProcAddress_v2);
using OldLookUp = decltype(&::cuGetProcAddress);

void* find(LookUp look_up, const char* name, int version, cuuint64_t flags) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    if (look_up(name, &function, version, flags, &status) != CUDA_SUCCESS) {
        std::printf("%s at %d: status %d\n", name, version, static_cast<int>(status));
        std::exit(96);
    }
    return function;
}

victim::Driver fetch(LookUp look_up, cuuint64_t flags) {
    victim::Driver driver;
#define DRIVER_FUNCTION(name, symbol, version) \
    driver.name = reinterpret_cast<decltype(driver.name)>(find(look_up, #name, version, flags));
#define DRIVER_STREAM_FUNCTION(name, symbol, twin, version) DRIVER_FUNCTION(name, symbol, version)
#include "tests/victims/driver_api.def"
    return driver;
}

/// Looks up names, versions and flags that yield nothing or another function, and compares with dlsym.
void say_look_ups(void* library, LookUp look_up) {
    const struct {
        const char* name;
        int version;
        cuuint64_t flags;
        const char* symbol;
    } cases[] = {
        {"cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_DEFAULT, "cuLaunchKernel"},
        {"cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, "cuLaunchKernel"},
        {"cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuLaunchKernel_ptsz"},
        {"cuLaunchKernel", 4000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuLaunchKernel"},
        {"cuLaunchKernel", 3000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr},
        {"cuLaunchKernelEx", 11000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr},
        {"cuLaunchKernelEx", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuLaunchKernelEx_ptsz"},
        {"cuLaunchKernel_ptsz", 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr},
        {"cuCtxCreate", 11000, CU_GET_PROC_ADDRESS_DEFAULT, "cuCtxCreate_v2"},
        {"cuCtxCreate", 12000, CU_GET_PROC_ADDRESS_DEFAULT, "cuCtxCreate_v3"},
        {"cuCtxCreate", 13000, CU_GET_PROC_ADDRESS_DEFAULT, "cuCtxCreate_v4"},
        {"cuCtxCreate_v2", 13000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr},
        {"cuGetProcAddress", 11030, CU_GET_PROC_ADDRESS_DEFAULT, "cuGetProcAddress"},
        {"cuGetProcAddress", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuGetProcAddress_v2"},
        {"cuMemAlloc", 12000, CU_GET_PROC_ADDRESS_DEFAULT, "cuMemAlloc_v2"},
        {"cublasCreate", 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr},
        {"", 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr},
        {"cuInit", 99000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr},
        {"cuInit", 12000, 64, nullptr},
    };
    for (const auto& one : cases) {
        void* function = nullptr;
        auto status = static_cast<CUdriverProcAddressQueryResult>(3);
        errno = victim::kErrno;
        const CUresult result = look_up(one.name, &function, one.version, one.flags, &status);
        const int errno_after = errno;
        const void* expected = one.symbol == nullptr ? nullptr : dlsym(library, one.symbol);
        std::printf("'%s' at %d, flags %d -> %d, status %d, as dlsym has it %d, errno %s\n", one.name,
                    one.version, static_cast<int>(one.flags), static_cast<int>(result),
                    static_cast<int>(status), function == expected ? 1 : 0,
                    errno_after == victim::kErrno ? "kept" : "changed");
    }
    void* function = nullptr;
    std::printf("no name -> %d\n", static_cast<int>(look_up(nullptr, &function, 12000, 0, nullptr)));
    std::printf("nowhere to put it -> %d\n", static_cast<int>(look_up("cuInit", nullptr, 12000, 0, nullptr)));
    std::printf("no status wanted -> %d\n",
                static_cast<int>(look_up("cuInit", &function, 12000, 0, nullptr)));
    auto* old = reinterpret_cast<OldLookUp>(find(look_up, "cuGetProcAddress", 11030, 0));
    std::printf("the old one -> %d", static_cast<int>(old("cuGetProcAddress", &function, 12000, 0)));
    std::printf(", and finds the new one %d\n", function == reinterpret_cast<void*>(look_up) ? 1 : 0);
}

/// Two threads, each on its own default stream, on which no other stream waits.
void work_per_thread(const victim::Driver& driver, CUcontext context) {
    CUlibrary library = nullptr;
    CUkernel fill = nullptr;
    victim::must(driver.cuLibraryLoadData(&library, victim::kImage, nullptr, nullptr, 0, nullptr, nullptr, 0),
                 "cuLibraryLoadData");
    victim::must(driver.cuLibraryGetKernel(&fill, library, "fill_kernel"), "cuLibraryGetKernel");
    float results[2] = {};
    const auto one_thread = [&](int which) {
        victim::must(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
        CUdeviceptr memory = 0;
        victim::must(driver.cuMemAlloc(&memory, sizeof(float)), "cuMemAlloc");
        for (int i = 0; i <= 200; ++i) {
            auto value = static_cast<float>(1000 * which + i);
            std::int32_t count = 1;
            void* parameters[] = {&memory, &value, &count};
            victim::must(driver.cuLaunchKernel(reinterpret_cast<CUfunction>(fill), 1, 1, 1, 1, 1, 1, 0,
                                               nullptr, parameters, nullptr),
                         "cuLaunchKernel");
        }
        victim::must(driver.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
        victim::must(driver.cuMemcpyDtoH(&results[which], memory, sizeof(float)), "cuMemcpyDtoH");
        victim::must(driver.cuMemFree(memory), "cuMemFree");
    };
    std::thread first(one_thread, 0);
    std::thread second(one_thread, 1);
    first.join();
    second.join();
    victim::print_floats("per-thread streams", results, 2);
    victim::must(driver.cuLibraryUnload(library), "cuLibraryUnload");
}

}  // namespace

int main() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        return 1;
    }
    auto* first = reinterpret_cast<LookUp>(dlsym(library, "cuGetProcAddress_v2"));
    auto* look_up = reinterpret_cast<LookUp>(find(first, "cuGetProcAddress", 12000, 0));
    std::printf("cuGetProcAddress finds itself: %d\n", first == look_up ? 1 : 0);
    say_look_ups(library, look_up);

    const victim::Driver legacy = fetch(look_up, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
    const victim::Driver per_thread = fetch(look_up, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    std::printf("one cuInit: %d, two cuLaunchKernel: %d\n", legacy.cuInit == per_thread.cuInit ? 1 : 0,
                legacy.cuLaunchKernel != per_thread.cuLaunchKernel ? 1 : 0);
    victim::work(legacy);
    work_per_thread(per_thread, victim::use_device(per_thread));
    return 0;
}
