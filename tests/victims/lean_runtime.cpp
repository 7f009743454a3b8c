// Runs a model like a runtime without libtorch, and prints the results, which depend only on the arguments.
// It writes the model to a file of its own in the working directory and removes the file when it is done.
// Like ExecuTorch's CUDA backend, it looks up few functions, passes no folder of cubins, and puts handles
// into the list of outputs. With LEAN_STATIC, the program itself has the shim functions.
//   lean_runtime [--runs N] [--deepbind] [--cuda] [--wrong-shape] [--nan] MODEL
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/fakes/lean/lean.h"

namespace {

constexpr int64_t kColumns = 4;
constexpr int32_t kCuda = 1;

[[noreturn]] void give_up(const char* what) {
    const char* const error = dlerror();
    std::fprintf(stderr, "lean_runtime: %s: %s\n", what, error == nullptr ? "failed" : error);
    std::exit(99);
}

int g_messages = 0;  // of dlerror() after successful lookups

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
    dlerror();
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function != nullptr && dlerror() != nullptr) ++g_messages;
    return function != nullptr;
}

struct Arguments {
    int runs = 1;
    int flags = 0;
    int32_t device = 0;
    bool wrong_shape = false;
    bool nan = false;
    std::string model;
};

Arguments read(int argc, char** argv) {
    Arguments all;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--runs" && i + 1 < argc)
            all.runs = std::atoi(argv[++i]);
        else if (argument == "--deepbind")
            all.flags = RTLD_DEEPBIND;
        else if (argument == "--cuda")
            all.device = kCuda;
        else if (argument == "--wrong-shape")
            all.wrong_shape = true;
        else if (argument == "--nan")
            all.nan = true;
        else
            all.model = argument;
    }
    return all;
}

/// The runtime's functions, in a library that it opens locally and then makes global, as a Python extension
/// does. A model opened with RTLD_DEEPBIND finds them in its own dependencies.
struct Runtime {
    decltype(&lean_make) make = nullptr;
    decltype(&lean_read) get = nullptr;
    decltype(&lean_elements) elements = nullptr;
    decltype(&lean_delete) remove = nullptr;
    decltype(&lean_tensors) tensors = nullptr;

    explicit Runtime(bool makes_global) {
#ifdef LEAN_STATIC
        (void)makes_global;
        void* library = dlopen(nullptr, RTLD_NOW);
#else
        void* library = dlopen("libfake_lean.so", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) give_up("libfake_lean.so");
        if (makes_global && dlopen("libfake_lean.so", RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) == nullptr)
            give_up("libfake_lean.so");
#endif
        if (!find(library, "lean_make", make) || !find(library, "lean_read", get) ||
            !find(library, "lean_elements", elements) || !find(library, "lean_delete", remove) ||
            !find(library, "lean_tensors", tensors))
            give_up("the runtime");
    }
};

class Model {
  public:
    Model(const std::string& path, int flags, const char* device)
        : file_("lean_" + std::to_string(getpid()) + "_0.so"), handle_(open(path, file_, flags)) {
        int32_t (*create)(void**, size_t, const char*, const char*) = nullptr;
        int32_t (*inputs)(void*, size_t*) = nullptr;
        int32_t (*outputs)(void*, size_t*) = nullptr;
        int32_t (*update)(void*, const uint8_t*) = nullptr;
        if (!find(handle_, "AOTInductorModelContainerCreateWithDevice", create) ||
            !find(handle_, "AOTInductorModelContainerDelete", remove_) ||
            !find(handle_, "AOTInductorModelContainerGetNumInputs", inputs) ||
            !find(handle_, "AOTInductorModelContainerGetNumOutputs", outputs) ||
            !find(handle_, "AOTInductorModelContainerRun", run_))
            give_up("a function of the model");
        // The model is too old to have these.
        for (const char* name : {"AOTInductorModelContainerExtractConstantsMap",
                                 "AOTInductorModelContainerUpdateUserManagedConstantBufferPairs"}) {
            void* const found = dlsym(handle_, name);
            std::printf("%s: %s, %s\n", name, found == nullptr ? "none" : "found",
                        dlerror() == nullptr ? "no error" : "an error");
        }
        if (!find(handle_, "AOTInductorModelUpdateConstantsFromBlob", update)) give_up("constants");
        const int created = create(&container_, 1, device, nullptr);
        size_t in = 0;
        size_t out = 0;
        inputs(container_, &in);
        outputs(container_, &out);
        std::printf("create: %d, %zu inputs, %zu outputs\n", created, in, out);
        std::printf("constants: %d\n", update(container_, reinterpret_cast<const uint8_t*>(weights_.data())));
    }
    ~Model() {
        const int removed = remove_(container_);
        const int closed = dlclose(handle_);
        std::printf("end: %d, %d, %d\n", removed, closed, unlink(file_.c_str()));
    }
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    int32_t run(AtenTensorHandle* input, AtenTensorHandle* output) const {
        return run_(container_, input, 1, output, 1, nullptr, nullptr);
    }

  private:
    static void* open(const std::string& path, const std::string& file, int flags) {
        std::error_code failed;
        std::filesystem::copy_file(path, file, failed);
        if (failed) give_up("cannot copy the model");
        void* const handle = dlopen(("./" + file).c_str(), RTLD_LAZY | RTLD_LOCAL | flags);
        if (handle == nullptr) give_up(path.c_str());
        return handle;
    }

    std::string file_;
    std::array<float, kColumns * kColumns> weights_{2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2};
    void* handle_;
    void* container_ = nullptr;
    int32_t (*remove_)(void*) = nullptr;
    int32_t (*run_)(void*, AtenTensorHandle*, size_t, AtenTensorHandle*, size_t, void*,
                    AOTIProxyExecutorHandle) = nullptr;
};

void run(const Runtime& runtime, const Model& model, const Arguments& all, int number) {
    std::array<float, 32> values{};
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i) - 8 + static_cast<float>(number);
    if (all.nan) values[5] = NAN;
    const int64_t rows = all.wrong_shape ? 4 : 8;
    AtenTensorHandle input = runtime.make(values.data(), rows, kColumns, all.device);
    AtenTensorHandle const planned = runtime.make(values.data(), 8, kColumns, all.device);
    AtenTensorHandle output = planned;
    errno = 0;
    const int code = model.run(&input, &output);
    const int error = errno;
    double sum = 0;
    if (code == 0) {
        runtime.get(output, values.data());
        for (int64_t i = 0; i < runtime.elements(output); ++i)
            sum += static_cast<double>(values[static_cast<size_t>(i)]);
    }
    std::printf("run %d: %d, sum %a, errno %d\n", number, code, sum, error);
    if (output != planned) runtime.remove(planned);
    if (output != nullptr) runtime.remove(output);
}

/// Makes the primary context current.
void start_cuda() {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    if (driver == nullptr || !find(driver, "cuInit", init) ||
        !find(driver, "cuDevicePrimaryCtxRetain", retain) || !find(driver, "cuCtxSetCurrent", set_current))
        give_up("libcuda.so.1");
    void* context = nullptr;
    const int started = init(0);
    const int retained = retain(&context, 0);
    std::printf("driver: %d %d %d\n", started, retained, set_current(context));
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments all = read(argc, argv);
    const Runtime runtime(all.flags == 0);
    if (all.device == kCuda) start_cuda();
    {
        const Model model(all.model, all.flags, all.device == kCuda ? "cuda" : "cpu");
        for (int i = 0; i < all.runs; ++i)
            run(runtime, model, all, i);
    }
    std::printf("tensors left: %lld, messages of dlerror: %d\n", static_cast<long long>(runtime.tensors()),
                g_messages);
    return 3;
}
