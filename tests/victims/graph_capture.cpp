// Captures CUDA graphs in one thread while another launches. Any unsafe call breaks a capture in global mode,
// and the node count shows whether the library added work to the graph.
#include <atomic>
#include <initializer_list>
#include <thread>

#include "tests/victims/driver_user.hpp"

namespace {

constexpr int kLaunches = 50;

struct Stage {
    victim::Driver driver;
    CUcontext context = nullptr;
    CUfunction add = nullptr;
    CUdeviceptr one = 0;
    CUdeviceptr sum = 0;
    CUdeviceptr other_sum = 0;
};

CUdeviceptr device_float(const victim::Driver& driver, float value) {
    CUdeviceptr memory = 0;
    victim::must(driver.cuMemAlloc(&memory, sizeof(value)), "cuMemAlloc");
    victim::must(driver.cuMemcpyHtoD(memory, &value, sizeof(value)), "cuMemcpyHtoD");
    return memory;
}

void say_float(const Stage& stage, const char* text, CUdeviceptr memory) {
    float value = 0;
    victim::must(stage.driver.cuMemcpyDtoH(&value, memory, sizeof(value)), "cuMemcpyDtoH");
    victim::print_floats(text, &value, 1);
}

/// Launches on its own stream until destruction. Every launch must succeed.
class OtherThread {
  public:
    explicit OtherThread(const Stage& stage) : stage_(stage), thread_([this] { run(); }) {
        while (!begun_)
            std::this_thread::yield();
    }
    OtherThread(const OtherThread&) = delete;
    OtherThread& operator=(const OtherThread&) = delete;
    ~OtherThread() {
        ends_ = true;
        thread_.join();
        std::printf("the other thread's failures: %d\n", failures_.load());
    }

  private:
    void run() {
        const victim::Driver& driver = stage_.driver;
        victim::must(driver.cuCtxSetCurrent(stage_.context), "cuCtxSetCurrent");
        CUstream stream = nullptr;
        victim::must(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        begun_ = true;
        while (!ends_) {
            if (victim::launch_add(driver, stage_.add, stage_.one, stage_.one, stage_.other_sum, 1, stream) !=
                CUDA_SUCCESS) {
                ++failures_;
            }
        }
        victim::must(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
        victim::must(driver.cuStreamDestroy(stream), "cuStreamDestroy");
    }

    const Stage& stage_;
    std::atomic<bool> begun_{false};
    std::atomic<bool> ends_{false};
    std::atomic<int> failures_{0};
    std::thread thread_;
};

/// Captures sum += 1, kLaunches times, and launches the graph three times.
void capture_beside_launches(const Stage& stage, CUstreamCaptureMode mode) {
    const victim::Driver& driver = stage.driver;
    std::printf("mode %d\n", static_cast<int>(mode));
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    victim::must(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    {
        const OtherThread other(stage);
        victim::say("begin", driver.cuStreamBeginCapture, stream, mode);
        int failures = 0;
        for (int i = 0; i < kLaunches; ++i) {
            if (victim::launch_add(driver, stage.add, stage.sum, stage.one, stage.sum, 1, stream) !=
                CUDA_SUCCESS) {
                ++failures;
            }
            std::this_thread::yield();
        }
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        victim::say("is capturing", driver.cuStreamIsCapturing, stream, &status);
        std::printf("status %d, failures %d\n", static_cast<int>(status), failures);
        victim::say("end", driver.cuStreamEndCapture, stream, &graph);
    }
    std::size_t nodes = 0;
    victim::must(driver.cuGraphGetNodes(graph, nullptr, &nodes), "cuGraphGetNodes");
    std::printf("nodes %zu\n", nodes);
    victim::must(driver.cuGraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
    for (int i = 0; i < 3; ++i)
        victim::say("launch of the graph", driver.cuGraphLaunch, executable, stream);
    victim::must(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
    say_float(stage, "sum", stage.sum);

    // A graph launched into a capture becomes one node.
    victim::must(driver.cuStreamBeginCapture(stream, mode), "cuStreamBeginCapture");
    victim::say("a graph into a capture", driver.cuGraphLaunch, executable, stream);
    CUgraph outer = nullptr;
    victim::must(driver.cuStreamEndCapture(stream, &outer), "cuStreamEndCapture");
    victim::must(driver.cuGraphGetNodes(outer, nullptr, &nodes), "cuGraphGetNodes");
    std::printf("nodes %zu\n", nodes);
    victim::must(driver.cuGraphDestroy(outer), "cuGraphDestroy");
    victim::must(driver.cuGraphExecDestroy(executable), "cuGraphExecDestroy");
    victim::must(driver.cuGraphDestroy(graph), "cuGraphDestroy");
    victim::must(driver.cuStreamDestroy(stream), "cuStreamDestroy");
}

/// Launches functions and kernels that are new during a capture, when the library cannot use every call to
/// get their names.
void launch_what_is_new(const Stage& stage) {
    const victim::Driver& driver = stage.driver;
    CUmodule module = nullptr;
    CUlibrary library = nullptr;
    victim::must(driver.cuModuleLoadData(&module, victim::kImage), "cuModuleLoadData");
    victim::must(driver.cuLibraryLoadData(&library, victim::kImage, nullptr, nullptr, 0, nullptr, nullptr, 0),
                 "cuLibraryLoadData");
    CUstream stream = nullptr;
    victim::must(driver.cuStreamCreate(&stream, 0), "cuStreamCreate");
    victim::must(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    CUfunction function = nullptr;
    CUkernel kernel = nullptr;
    victim::must(driver.cuModuleGetFunction(&function, module, "empty_kernel"), "cuModuleGetFunction");
    victim::must(driver.cuLibraryGetKernel(&kernel, library, "empty_kernel"), "cuLibraryGetKernel");
    for (CUfunction what : {function, reinterpret_cast<CUfunction>(kernel)}) {
        victim::say("launch of what is new", driver.cuLaunchKernel, what, 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream,
                    nullptr, nullptr);
    }
    // A thread in relaxed mode may load a module.
    std::thread loader([&stage] {
        const victim::Driver& mine = stage.driver;
        victim::must(mine.cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        victim::must(mine.cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode");
        CUmodule loaded = nullptr;
        victim::say("a module in relaxed mode", mine.cuModuleLoadData, &loaded,
                    static_cast<const void*>(victim::kImage));
        victim::must(mine.cuModuleUnload(loaded), "cuModuleUnload");
    });
    loader.join();
    CUgraph graph = nullptr;
    victim::say("end", driver.cuStreamEndCapture, stream, &graph);
    std::size_t nodes = 0;
    victim::must(driver.cuGraphGetNodes(graph, nullptr, &nodes), "cuGraphGetNodes");
    std::printf("nodes %zu\n", nodes);
    victim::must(driver.cuGraphDestroy(graph), "cuGraphDestroy");
    victim::must(driver.cuStreamDestroy(stream), "cuStreamDestroy");
    victim::must(driver.cuModuleUnload(module), "cuModuleUnload");
    victim::must(driver.cuLibraryUnload(library), "cuLibraryUnload");
}

/// Calls that break a capture must still break it.
void break_captures(const Stage& stage) {
    const victim::Driver& driver = stage.driver;
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    victim::must(driver.cuStreamCreate(&stream, 0), "cuStreamCreate");

    victim::must(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    std::thread([&stage] {
        const victim::Driver& mine = stage.driver;
        victim::must(mine.cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
        CUdeviceptr memory = 0;
        victim::say("memory from another thread", mine.cuMemAlloc, &memory, std::size_t{64});
    }).join();
    victim::say("end of the broken one", driver.cuStreamEndCapture, stream, &graph);

    victim::must(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                 "cuStreamBeginCapture");
    std::int32_t count = 1;
    CUdeviceptr one = stage.one;
    CUdeviceptr sum = stage.other_sum;
    void* parameters[] = {&one, &one, &sum, &count};
    victim::say("launch on the legacy stream", driver.cuLaunchKernel, stage.add, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                CUstream{}, parameters, nullptr);
    float value = 0;
    victim::say("a copy that waits", driver.cuMemcpyDtoH, static_cast<void*>(&value), stage.sum,
                sizeof(value));
    victim::say("launch into the broken one", driver.cuLaunchKernel, stage.add, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                stream, parameters, nullptr);
    victim::say("end of the broken one", driver.cuStreamEndCapture, stream, &graph);
    victim::say("end of none", driver.cuStreamEndCapture, stream, &graph);
    victim::say("begin on the legacy stream", driver.cuStreamBeginCapture, CUstream{},
                CU_STREAM_CAPTURE_MODE_GLOBAL);
    victim::must(driver.cuStreamDestroy(stream), "cuStreamDestroy");
}

}  // namespace

int main() {
    Stage stage;
#define DRIVER_FUNCTION(name, symbol, version) stage.driver.name = &::symbol;
#define DRIVER_STREAM_FUNCTION(name, symbol, twin, version) stage.driver.name = &::symbol;
#include "tests/victims/driver_api.def"
    stage.context = victim::use_device(stage.driver);
    CUmodule module = nullptr;
    victim::must(stage.driver.cuModuleLoadData(&module, victim::kImage), "cuModuleLoadData");
    victim::must(stage.driver.cuModuleGetFunction(&stage.add, module, "add_kernel"), "cuModuleGetFunction");
    stage.one = device_float(stage.driver, 1);
    stage.sum = device_float(stage.driver, 0);
    stage.other_sum = device_float(stage.driver, 0);
    for (CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                     CU_STREAM_CAPTURE_MODE_RELAXED}) {
        capture_beside_launches(stage, mode);
    }
    launch_what_is_new(stage);
    break_captures(stage);
    return 0;
}
