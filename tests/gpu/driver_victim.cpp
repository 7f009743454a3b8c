// A program that uses the CUDA driver API: driver_victim MODE, or --list. It links libcuda and also gets
// functions from dlsym and cuGetProcAddress. It must not use the library. The output is the same in every
// run. A last line `launches N` counts its kernels and graphs, where that is certain.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr unsigned int kCount = 4096;
int g_launches = 0;

// Adds `what` to data[i] for i < count.
const char kAdd[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry add_to_all(.param .u64 data, .param .u32 count, .param .f32 what)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [count];
    ld.param.f32 %f1, [what];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra done;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    add.f32 %f3, %f2, %f1;
    st.global.f32 [%rd4], %f3;
done:
    ret;
}
)";

const char* name_of(CUresult result) {
    const char* name = nullptr;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "an error without a name";
}

void must(CUresult result) {
    if (result == CUDA_SUCCESS) return;
    std::printf("unexpected: %s\n", name_of(result));
    std::exit(9);
}

/// The primary context of the first device, some memory, and the kernel from a module.
struct Setting {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction add = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr data = 0;

    Setting() {
        must(cuInit(0));
        must(cuDeviceGet(&device, 0));
        must(cuDevicePrimaryCtxRetain(&context, device));
        must(cuCtxSetCurrent(context));
        fill();
    }

    void fill() {
        must(cuModuleLoadData(&module, kAdd));
        must(cuModuleGetFunction(&add, module, "add_to_all"));
        must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        must(cuMemAlloc(&data, kCount * sizeof(float)));
        must(cuMemsetD32(data, 0, kCount));
    }

    double sum() const {
        std::vector<float> host(kCount);
        must(cuStreamSynchronize(stream));
        must(cuMemcpyDtoH(host.data(), data, kCount * sizeof(float)));
        double sum = 0;
        for (const float value : host)
            sum += value;
        return sum;
    }
};

/// The kernel's arguments, in the layout that the driver requires.
struct Arguments {
    CUdeviceptr data;
    unsigned int count = kCount;
    float what;
    void* list[3] = {&data, &count, &what};
    Arguments(CUdeviceptr where, float number) : data(where), what(number) {}
    Arguments(const Arguments&) = delete;
};

using LaunchKernel = decltype(&cuLaunchKernel);

void launch_with(LaunchKernel launch, CUfunction function, const Setting& setting, float what) {
    Arguments arguments(setting.data, what);
    must(launch(function, kCount / 128, 1, 1, 128, 1, 1, 0, setting.stream, arguments.list, nullptr));
    ++g_launches;
}

int linked() {
    const Setting setting;
    for (int i = 0; i < 100; ++i)
        launch_with(&cuLaunchKernel, setting.add, setting, 1.0F);
    std::printf("sum %.1f\n", setting.sum());
    return 0;
}

int looked_up() {
    const Setting setting;
    void* libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto by_handle = reinterpret_cast<LaunchKernel>(dlsym(libcuda, "cuLaunchKernel"));
    const auto by_default = reinterpret_cast<LaunchKernel>(dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
    launch_with(by_handle, setting.add, setting, 1.0F);
    launch_with(by_default, setting.add, setting, 2.0F);
    std::printf("alike %d, sum %.1f\n", by_handle == by_default ? 1 : 0, setting.sum());
    return 0;
}

int entry_points() {
    const Setting setting;
    const cuuint64_t all_flags[] = {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};
    for (const int version : {11030, 12000}) {
        for (const cuuint64_t flags : all_flags) {
            void* found = nullptr;
            CUdriverProcAddressQueryResult how = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
            must(cuGetProcAddress("cuLaunchKernel", &found, version, flags, &how));
            launch_with(reinterpret_cast<LaunchKernel>(found), setting.add, setting, 1.0F);
            std::printf("%d %d: %d\n", version, static_cast<int>(flags), static_cast<int>(how));
        }
    }
    void* found = &found;
    std::printf("no such: %s, %d\n", name_of(cuGetProcAddress("cuNoSuchThing", &found, 12000, 0, nullptr)),
                found == nullptr ? 1 : 0);
    std::printf("sum %.1f\n", setting.sum());
    return 0;
}

int launch_ex() {
    const Setting setting;
    Arguments arguments(setting.data, 3.0F);
    CUlaunchConfig config = {};
    config.gridDimX = kCount / 128;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 128;
    config.hStream = setting.stream;
    must(cuLaunchKernelEx(&config, setting.add, arguments.list, nullptr));
    must(cuLaunchCooperativeKernel(setting.add, kCount / 128, 1, 1, 128, 1, 1, 0, setting.stream,
                                   arguments.list));
    g_launches = 2;
    std::printf("sum %.1f\n", setting.sum());
    return 0;
}

/// Passes the arguments as a buffer in `extra` instead of by pointers.
int packed_arguments() {
    const Setting setting;
    struct {
        CUdeviceptr data;
        unsigned int count;
        float what;
    } packed = {setting.data, kCount, 5.0F};
    std::size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    must(cuLaunchKernel(setting.add, kCount / 128, 1, 1, 128, 1, 1, 0, setting.stream, nullptr, extra));
    g_launches = 1;
    std::printf("sum %.1f\n", setting.sum());
    return 0;
}

int modules_come_and_go() {
    Setting setting;
    for (int i = 0; i < 20; ++i) {
        launch_with(&cuLaunchKernel, setting.add, setting, 1.0F);
        must(cuStreamSynchronize(setting.stream));
        must(cuModuleUnload(setting.module));
        must(cuModuleLoadData(&setting.module, kAdd));
        must(cuModuleGetFunction(&setting.add, setting.module, "add_to_all"));
    }
    std::printf("sum %.1f\n", setting.sum());
    return 0;
}

/// Passes a CUkernel as a CUfunction, like the runtime.
int library_kernels() {
    const Setting setting;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    must(cuLibraryLoadData(&library, kAdd, nullptr, nullptr, 0, nullptr, nullptr, 0));
    must(cuLibraryGetKernel(&kernel, library, "add_to_all"));
    must(cuKernelGetFunction(&function, kernel));
    launch_with(&cuLaunchKernel, reinterpret_cast<CUfunction>(kernel), setting, 1.0F);
    launch_with(&cuLaunchKernel, function, setting, 1.0F);
    std::printf("sum %.1f\n", setting.sum());
    must(cuLibraryUnload(library));
    return 0;
}

int contexts() {
    Setting setting;
    for (int i = 0; i < 3; ++i) {
        CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
        must(cuCtxCreate(&context, nullptr, 0, setting.device));
#else
        must(cuCtxCreate(&context, 0, setting.device));
#endif
        Setting other = setting;
        other.fill();
        launch_with(&cuLaunchKernel, other.add, other, 1.0F);
        std::printf("sum %.1f\n", other.sum());
        must(cuCtxDestroy(context));
    }
    must(cuCtxSetCurrent(setting.context));
    launch_with(&cuLaunchKernel, setting.add, setting, 1.0F);
    std::printf("sum %.1f\n", setting.sum());
    must(cuDevicePrimaryCtxRelease(setting.device));
    return 0;
}

int graph() {
    const Setting setting;
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    must(cuStreamBeginCapture(setting.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 4; ++i)
        launch_with(&cuLaunchKernel, setting.add, setting, 1.0F);
    must(cuStreamEndCapture(setting.stream, &graph));
    std::size_t nodes = 0;
    must(cuGraphGetNodes(graph, nullptr, &nodes));
    must(cuGraphInstantiateWithFlags(&ready, graph, 0));
    for (int i = 0; i < 5; ++i)
        must(cuGraphLaunch(ready, setting.stream));
    g_launches += 5;
    std::printf("nodes %zu, sum %.1f\n", nodes, setting.sum());
    return 0;
}

int errors() {
    const Setting setting;
    Arguments arguments(setting.data, 1.0F);
    const auto try_launch = [&](const char* what, CUfunction function, unsigned int threads) {
        std::printf("%s: %s\n", what,
                    name_of(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, setting.stream,
                                           arguments.list, nullptr)));
    };
    try_launch("no function", nullptr, 32);
    try_launch("too many threads", setting.add, 100000);
    try_launch("none", setting.add, 0);
    CUfunction function = nullptr;
    std::printf("no such kernel: %s\n", name_of(cuModuleGetFunction(&function, setting.module, "none")));
    CUmodule module = nullptr;
    std::printf("no such file: %s\n", name_of(cuModuleLoad(&module, "/nonexistent.cubin")));
    std::printf("no image: %s\n", name_of(cuModuleLoadData(&module, "nonsense")));
    try_launch("good", setting.add, 32);
    std::printf("sum %.1f\n", setting.sum());
    return 0;
}

/// A block with more threads than any device has.
int refused() {
    const Setting setting;
    Arguments arguments(setting.data, 1.0F);
    launch_with(&cuLaunchKernel, setting.add, setting, 1.0F);
    std::printf("sum %.1f\n", setting.sum());
    const CUresult result =
        cuLaunchKernel(setting.add, 1, 1, 1, 4096, 1, 1, 0, setting.stream, arguments.list, nullptr);
    std::printf("4096 threads: %s\n", name_of(result));
    return 3;
}

int fault() {
    const Setting setting;
    Arguments arguments(16, 1.0F);
    must(cuLaunchKernel(setting.add, 1, 1, 1, 32, 1, 1, 0, setting.stream, arguments.list, nullptr));
    std::printf("synchronise: %s\n", name_of(cuStreamSynchronize(setting.stream)));
    return 3;
}

struct Mode {
    const char* name;
    int (*run)();
    bool counted;
};

const Mode kModes[] = {
    {"linked", linked, true},
    {"looked_up", looked_up, true},
    {"entry_points", entry_points, true},
    {"launch_ex", launch_ex, true},
    {"packed_arguments", packed_arguments, true},
    {"modules_come_and_go", modules_come_and_go, true},
    {"library_kernels", library_kernels, true},
    {"contexts", contexts, true},
    {"graph", graph, true},
    {"errors", errors, false},
    {"refused", refused, false},
    {"fault", fault, false},
};

}  // namespace

int main(int argc, char** argv) {
    const char* requested = argc == 2 ? argv[1] : "";
    for (const Mode& mode : kModes) {
        if (std::strcmp(requested, "--list") == 0) {
            std::printf("%s\n", mode.name);
        } else if (std::strcmp(requested, mode.name) == 0) {
            const int code = mode.run();
            if (mode.counted) std::printf("launches %d\n", g_launches);
            return code;
        }
    }
    return std::strcmp(requested, "--list") == 0 ? 0 : 2;
}
