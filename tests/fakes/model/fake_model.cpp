// A model as AOTInductor compiles it: the same exports, and the same calls in the same order in a run.
// Variants: FAKE_CUDA launches through the driver, FAKE_THOUSAND runs a thousand kernels, FAKE_PRINTER
// includes PyTorch's debug printer, FAKE_THROWING lets exceptions leave Run. It must look like compiler
// output: default visibility, calls through its import slots, no code of ours.
#ifdef FAKE_CUDA
#include <cuda.h>
#endif

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fakes/model/container.hpp"
#include "tests/fakes/torch/fake_torch.h"

extern "C" {
void cpp_fused_relu_0(float*, const float*, int64_t);
void cpp_fused_mul_1(const float*, const float*, const float*, float*, float*, int64_t, int64_t, int64_t,
                     int64_t);
void cpp_fused_mixed_2(const float*, double, int64_t, double, int64_t, const float*, double, int64_t, double,
                       float*, int64_t, int64_t);
void cpp_fused_doubles_3(const float*, float*, int64_t, double, double, double, double, double, double,
                         double, double, double);
}
void call_cat_200(const float* const* in, float* out);
void call_cat_1000(const float* const* in, float* out);
void call_thousand(float* data);

namespace {

// Real models also call these inside dlopen, under the loader's lock.
const int32_t cached_float32 = aoti_torch_dtype_float32();
const int32_t cached_cpu = aoti_torch_device_type_cpu();

constexpr int64_t kElements = 32;
constexpr int64_t kWeights = 1024;

void check(AOTITorchError code, const char* what) {
    if (code != 0) throw std::runtime_error(std::string(what) + " failed");
}
#define CHECKED(call) check(call, #call)

class Tensor {
  public:
    explicit Tensor(AtenTensorHandle handle) : handle_(handle) {}
    explicit Tensor(int64_t elements) {
        const int64_t stride = 1;
        CHECKED(aoti_torch_empty_strided(1, &elements, &stride, cached_float32, cached_cpu, 0, &handle_));
    }
    ~Tensor() {
        if (handle_ != nullptr) aoti_torch_delete_tensor_object(handle_);
    }
    Tensor(const Tensor&) = delete;
    Tensor& operator=(const Tensor&) = delete;
    [[nodiscard]] AtenTensorHandle get() const { return handle_; }
    AtenTensorHandle release() {
        AtenTensorHandle released = handle_;
        handle_ = nullptr;
        return released;
    }
    [[nodiscard]] float* data() const {
        void* data = nullptr;
        CHECKED(aoti_torch_get_data_ptr(handle_, &data));
        return static_cast<float*>(data);
    }

  private:
    AtenTensorHandle handle_ = nullptr;
};

class NoGradGuard {
  public:
    NoGradGuard() : previous_(aoti_torch_grad_mode_is_enabled()) { aoti_torch_grad_mode_set_enabled(false); }
    ~NoGradGuard() { aoti_torch_grad_mode_set_enabled(previous_); }
    NoGradGuard(const NoGradGuard&) = delete;
    NoGradGuard& operator=(const NoGradGuard&) = delete;

  private:
    bool previous_;
};

struct Model {
    std::string cubin_dir;
    std::vector<float> values = std::vector<float>(kWeights, 0.25F);
    AtenTensorHandle weight = nullptr;
#ifdef FAKE_CUDA
    CUfunction triton_poi_fused_relu_0 = nullptr;
    CUfunction add_kernel_0 = nullptr;
#endif

    explicit Model(const char* dir) : cubin_dir(dir == nullptr ? "" : dir) {
        const int64_t size = kElements;
        const int64_t stride = 1;
        CHECKED(aoti_torch_create_tensor_from_blob_v2(values.data(), 1, &size, &stride, 0, cached_float32,
                                                      cached_cpu, 0, &weight, 0, nullptr, 0));
    }
    ~Model() {
        aoti_torch_delete_tensor_object(weight);
    }
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    AtenTensorHandle run(AtenTensorHandle input, void* stream, AOTIProxyExecutorHandle executor);
};

#if defined(FAKE_CUDA)

void check_driver(CUresult code) {
    if (code != CUDA_SUCCESS) throw std::runtime_error("CUDA driver error: " + std::to_string(code));
}

CUfunction loadKernel(const std::string& file, const std::string& function, const std::string& dir) {
    const std::string path = dir + "/" + std::filesystem::path(file).filename().string();
    CUmodule module = nullptr;
    CUfunction found = nullptr;
    check_driver(cuModuleLoad(&module, path.c_str()));
    check_driver(cuModuleGetFunction(&found, module, function.c_str()));
    return found;
}

void launchKernel(CUfunction function, void** arguments, void* stream) {
    check_driver(
        cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, static_cast<CUstream>(stream), arguments, nullptr));
}

AtenTensorHandle Model::run(AtenTensorHandle stolen, void* stream, AOTIProxyExecutorHandle /*executor*/) {
    const NoGradGuard no_grad;
    CUDAStreamGuardHandle guard = nullptr;
    CHECKED(aoti_torch_create_cuda_stream_guard(stream, 0, &guard));
    Tensor input(stolen);
    Tensor buf0(kElements);
    CHECKED(aoti_torch_cuda_mm_out(buf0.get(), input.get(), weight));
    if (triton_poi_fused_relu_0 == nullptr)
        triton_poi_fused_relu_0 =
            loadKernel("/tmp/elsewhere/crelu.cubin", "triton_poi_fused_relu_0", cubin_dir);
    if (add_kernel_0 == nullptr)
        add_kernel_0 = loadKernel("/tmp/elsewhere/cadd.cubin", "add_kernel", cubin_dir);
    float* in_out = buf0.data();
    float* in = input.data();
    int32_t count = kElements;
    void* scratch = nullptr;
    void* relu_arguments[] = {&in_out, &in, &count, &scratch, &scratch};
    launchKernel(triton_poi_fused_relu_0, relu_arguments, stream);
    Tensor buf1(kElements);
    float* out = buf1.data();
    void* add_arguments[] = {&in_out, &in, &out, &count, &scratch, &scratch};
    launchKernel(add_kernel_0, add_arguments, stream);
    check_driver(cuStreamSynchronize(static_cast<CUstream>(stream)));
    Tensor buf2(kElements);
    CHECKED(aoti_torch_cuda_bmm_out(buf2.get(), buf1.get(), weight));
    CHECKED(aoti_torch_delete_cuda_stream_guard(guard));
    return buf2.release();
}

#elif defined(FAKE_THOUSAND)

AtenTensorHandle Model::run(AtenTensorHandle stolen, void* /*stream*/, AOTIProxyExecutorHandle /*executor*/) {
    const NoGradGuard no_grad;
    Tensor input(stolen);
    Tensor buf0(kElements);
    CHECKED(aoti_torch_cpu_addmm_out(buf0.get(), weight, input.get(), weight, 1.0, 2.0));
    call_thousand(buf0.data());
    return buf0.release();
}

#else

AtenTensorHandle Model::run(AtenTensorHandle stolen, void* /*stream*/, AOTIProxyExecutorHandle executor) {
    const NoGradGuard no_grad;
    const Tensor input(stolen);
    const Tensor buf0(kElements);
    CHECKED(aoti_torch_cpu_addmm_out(buf0.get(), weight, input.get(), weight, 1.0, 2.0));
#ifdef FAKE_PRINTER
    aoti_torch_print_tensor_handle(buf0.get(), "after_launch - aoti_torch_cpu_addmm_out - buf0");
#endif
    cpp_fused_relu_0(buf0.data(), input.data(), kElements);
    const Tensor buf1(kElements);
    const Tensor buf2(kElements);
    cpp_fused_mul_1(buf0.data(), input.data(), buf0.data(), buf1.data(), buf2.data(), kElements, 3, 5, 7);
    const Tensor buf3(kElements);
    cpp_fused_mixed_2(buf1.data(), 0.5, kElements, 0.25, 11, buf2.data(), 0.125, 13, 0.0625, buf3.data(), 17,
                      19);
    const Tensor buf4(kElements);
    cpp_fused_doubles_3(buf3.data(), buf4.data(), kElements, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5);

    const Tensor buf5(200);
    const Tensor buf6(1000);
    std::vector<const float*> pointers;
    for (int64_t i = 0; i < kWeights; ++i)
        pointers.push_back(i % 2 == 0 ? &values[static_cast<size_t>(i)] : buf4.data() + i % kElements);
    call_cat_200(pointers.data(), buf5.data());
    call_cat_1000(pointers.data(), buf6.data());

    int32_t stable = 1;
    AtenTensorHandle sorted = nullptr;
    AtenTensorHandle indices = nullptr;
    CHECKED(aoti_torch_cpu_sort_stable(buf6.get(), &stable, 0, 0, &sorted, &indices));
    const Tensor buf7(sorted);
    const Tensor buf8(indices);
    const AtenTensorHandle list[] = {buf4.get(), buf5.get(), buf7.get()};
    AtenTensorHandle joined = nullptr;
    CHECKED(aoti_torch_cpu_cat(list, 3, 0, &joined));
    const Tensor buf9(joined);
    const Tensor buf10(fake_torch_elements(joined));
    int64_t number = 3;
    AtenTensorHandle scaled[] = {buf9.get(), buf10.get()};
    CHECKED(aoti_torch_proxy_executor_call_function(executor, 0, 1, &number, 2, scaled));
    Tensor buf11(fake_torch_elements(joined));
    AtenTensorHandle moved[] = {buf10.get(), buf11.get()};
    CHECKED(aoti_torch_proxy_executor_call_function(executor, 1, 1, &number, 2, moved));
    StableIValue stack[] = {reinterpret_cast<StableIValue>(buf11.get())};
    CHECKED(aoti_torch_call_dispatcher("mylib::shift", "default", stack));
    AtenTensorHandle made = nullptr;
    CHECKED(aoti_torch_cpu_neg(input.get(), &made));
    const Tensor buf12(made);
    CHECKED(aoti_torch_cpu_abs(input.get(), &made));
    const Tensor buf13(made);
    buf11.data()[0] += buf12.data()[1] + buf13.data()[2];
    return buf11.release();
}

#endif

Model* model_of(void* container) {
    return static_cast<Model*>(container);
}

}  // namespace

extern "C" {

int32_t AOTInductorModelContainerCreateWithDevice(void** container, size_t models, const char* /*device*/,
                                                  const char* cubin_dir) {
    return as_error_code([&] {
        if (models == 0) throw std::runtime_error("no models");
        *container = new Model(cubin_dir);
    });
}

int32_t AOTInductorModelContainerCreate(void** container, size_t models, bool is_cpu, const char* cubin_dir) {
    return AOTInductorModelContainerCreateWithDevice(container, models, is_cpu ? "cpu" : "cuda", cubin_dir);
}

int32_t AOTInductorModelContainerDelete(void* container) {
    return as_error_code([&] { delete model_of(container); });
}

int32_t AOTInductorModelContainerRun(void* container, AtenTensorHandle* inputs, size_t input_count,
                                     AtenTensorHandle* outputs, size_t output_count, void* stream,
                                     AOTIProxyExecutorHandle executor) {
    return as_error_code([&] {
        if (input_count != 1 || output_count != 1) throw std::runtime_error("one input, one output");
        outputs[0] = nullptr;
        outputs[0] = model_of(container)->run(inputs[0], stream, executor);
    });
}

int32_t AOTInductorModelContainerRunSingleThreaded(void* container, AtenTensorHandle* inputs,
                                                   size_t input_count, AtenTensorHandle* outputs,
                                                   size_t output_count, void* stream,
                                                   AOTIProxyExecutorHandle executor) {
    return as_error_code([&] {
        if (input_count != 1 || output_count != 1) throw std::runtime_error("one input, one output");
        outputs[0] = model_of(container)->run(inputs[0], stream, executor);
    });
}

int32_t AOTInductorModelContainerGetNumConstants(void* /*container*/, size_t* count) {
    *count = 1;
    return 0;
}

int32_t AOTInductorModelContainerGetConstantName(void* /*container*/, size_t /*index*/, const char** name) {
    *name = "weight";
    return 0;
}

int32_t AOTInductorModelContainerGetInputName(void* /*container*/, size_t /*index*/, const char** name) {
    *name = "arg0_1";
    return 0;
}

int32_t AOTInductorModelContainerGetNumOutputs(void* /*container*/, size_t* count) {
    *count = 1;
    return 0;
}

int32_t AOTInductorModelContainerUpdateConstantBuffer(void* container, void* /*map*/, bool /*inactive*/,
                                                      bool /*validate*/) {
    return as_error_code([&] { model_of(container)->values.assign(kWeights, 0.5F); });
}

}  // extern "C"
