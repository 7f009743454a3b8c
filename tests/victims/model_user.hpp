// Shared by the victims: opens and runs a model like PyTorch's loader, over the fake libtorch. It must not
// check the library under test.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fakes/torch/fake_torch.h"

namespace victim {

using RunFunction = int32_t(void*, AtenTensorHandle*, size_t, AtenTensorHandle*, size_t, void*,
                            AOTIProxyExecutorHandle);

[[noreturn]] inline void give_up(const char* what) {
    std::fprintf(stderr, "victim: %s: %s\n", what, dlerror());
    std::exit(99);
}

/// The libtorch functions that a loader itself calls. They are looked up, so a victim need not link libtorch.
struct Torch {
    decltype(&aoti_torch_create_tensor_from_blob_v2) from_blob = nullptr;
    decltype(&aoti_torch_get_data_ptr) data = nullptr;
    decltype(&aoti_torch_delete_tensor_object) forget = nullptr;
    decltype(&fake_torch_elements) elements = nullptr;
    decltype(&fake_torch_calls) calls = nullptr;
    decltype(&fake_torch_forget_devices) forget_devices = nullptr;

    explicit Torch(int scope = RTLD_GLOBAL) {
        void* handle = dlopen("libfake_torch_cpu.so", RTLD_NOW | scope);
        if (handle == nullptr) give_up("libfake_torch_cpu.so");
        find(handle, "aoti_torch_create_tensor_from_blob_v2", from_blob);
        find(handle, "aoti_torch_get_data_ptr", data);
        find(handle, "aoti_torch_delete_tensor_object", forget);
        find(handle, "fake_torch_elements", elements);
        find(handle, "fake_torch_calls", calls);
        find(handle, "fake_torch_forget_devices", forget_devices);
    }

    template <typename Function>
    static void find(void* handle, const char* name, Function*& function) {
        function = reinterpret_cast<Function*>(dlsym(handle, name));
        if (function == nullptr) give_up(name);
    }
};

struct Result {
    int32_t code = 0;
    double sum = 0;
    int errno_after = 0;
};

/// Runs the model once through `function`. Input element i is (i + 1) / 8, except that the first is `first`.
inline Result run(const Torch& torch, RunFunction* function, void* container, float first = 0.125F) {
    std::array<float, 32> values{};
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i + 1) / 8;
    values[0] = first;
    const auto size = static_cast<int64_t>(values.size());
    const int64_t stride = 1;
    AtenTensorHandle input = nullptr;
    torch.from_blob(values.data(), 1, &size, &stride, 0, 6, 0, 0, &input, 0, nullptr, 0);
    AtenTensorHandle output = nullptr;
    Result result;
    errno = 0;
    result.code = function(container, &input, 1, &output, 1, nullptr, nullptr);
    result.errno_after = errno;
    if (result.code != 0 || output == nullptr) return result;
    void* data = nullptr;
    torch.data(output, &data);
    for (int64_t i = 0; i < torch.elements(output); ++i)
        result.sum += static_cast<float*>(data)[i];
    torch.forget(output);
    return result;
}

/// A model .so and one container of it.
class Model {
  public:
    Model(const Torch& torch, const std::string& path, int flags = 0, const char* device = "cpu")
        : torch_(torch), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | flags)) {
        if (handle_ == nullptr) give_up(path.c_str());
        int32_t (*create)(void**, size_t, const char*, const char*) = nullptr;
        Torch::find(handle_, "AOTInductorModelContainerCreateWithDevice", create);
        for (const char* name :
             {"GetNumConstants", "GetConstantName", "GetNumInputs", "GetInputName", "GetNumOutputs",
              "UpdateInactiveConstantBuffer", "RunConstantFolding", "GetCallSpec"}) {
            void* found = dlsym(handle_, ("AOTInductorModelContainer" + std::string(name)).c_str());
            if (found == nullptr) give_up(name);
        }
        Torch::find(handle_, "AOTInductorModelContainerDelete", remove_);
        Torch::find(handle_, "AOTInductorModelContainerRun", run_);
        Torch::find(handle_, "AOTInductorModelContainerRunSingleThreaded", run_single_);
        Torch::find(handle_, "AOTInductorModelContainerUpdateConstantBuffer", update_);
        Torch::find(handle_, "AOTInductorModelContainerSwapConstantBuffer", swap_);
        const std::string folder = path.substr(0, path.rfind('/'));
        if (create(&container_, 1, device, folder.c_str()) != 0) give_up("CreateWithDevice");
    }
    ~Model() { close(); }
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    void close() {
        if (handle_ == nullptr) return;
        if (remove_(container_) != 0 || dlclose(handle_) != 0) give_up("closing a model");
        handle_ = nullptr;
    }
    [[nodiscard]] Result run(float first = 0.125F) const {
        return victim::run(torch_, run_, container_, first);
    }
    /// Runs the model with any inputs and outputs on a stream.
    int32_t run(AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs, size_t output_count,
                void* stream, bool single = false) const {
        return (single ? run_single_ : run_)(container_, inputs, input_count, outputs, output_count, stream,
                                             nullptr);
    }
    [[nodiscard]] Result run_single() const { return victim::run(torch_, run_single_, container_); }
    [[nodiscard]] int32_t update_weights(void* map) const { return update_(container_, map, false, false); }
    [[nodiscard]] int32_t new_weights() const {
        return update_(container_, nullptr, false, false) + swap_(container_);
    }

  private:
    const Torch& torch_;
    void* handle_;
    void* container_ = nullptr;
    int32_t (*remove_)(void*) = nullptr;
    RunFunction* run_ = nullptr;
    RunFunction* run_single_ = nullptr;
    int32_t (*update_)(void*, void*, bool, bool) = nullptr;
    int32_t (*swap_)(void*) = nullptr;
};

inline void print(const char* what, const Result& result) {
    std::printf("%s: code %d, sum %a, errno %d\n", what, result.code, result.sum, result.errno_after);
}

}  // namespace victim
