// A model compiled for a runtime without libtorch: it links no library, brings its kernels inside, and gets
// its constants from the runtime. FAKE_CUDA launches through the driver. It must look like compiler output:
// default visibility, calls through its import slots, no code of ours.
#ifdef FAKE_CUDA
#include <cuda.h>
#endif

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/fakes/lean/lean.h"
#include "tests/fakes/model/container.hpp"

extern "C" void cpp_fused_relu_0(float* in_out_ptr0, const float* in_ptr0, int64_t ks0);

namespace {

const int32_t cached_float32 = aoti_torch_dtype_float32();
#ifdef FAKE_CUDA
const int32_t cached_device = aoti_torch_device_type_cuda();
#else
const int32_t cached_device = aoti_torch_device_type_cpu();
#endif

constexpr int64_t kRows = 8;
constexpr int64_t kColumns = 4;

void check(AOTITorchError code, const char* what) {
    if (code != 0) throw std::runtime_error(std::string(what) + " failed");
}
#define CHECKED(call) check(call, #call)

class Tensor {
  public:
    explicit Tensor(AtenTensorHandle handle) : handle_(handle) {}
    Tensor() {
        const int64_t sizes[] = {kRows, kColumns};
        const int64_t strides[] = {kColumns, 1};
        CHECKED(aoti_torch_empty_strided(2, sizes, strides, cached_float32, cached_device, 0, &handle_));
    }
    ~Tensor() {
        if (handle_ != nullptr) aoti_torch_delete_tensor_object(handle_);
    }
    Tensor(const Tensor&) = delete;
    Tensor& operator=(const Tensor&) = delete;
    [[nodiscard]] AtenTensorHandle get() const { return handle_; }
    AtenTensorHandle release() { return std::exchange(handle_, nullptr); }
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
    AtenTensorHandle weight = nullptr;
    bool needs_batches = false;

    ~Model() { drop_weight(); }
    void drop_weight() {
        if (weight != nullptr) aoti_torch_delete_tensor_object(std::exchange(weight, nullptr));
    }
    [[nodiscard]] AtenTensorHandle run(AtenTensorHandle stolen, void* stream) const;
};

void check_input(AtenTensorHandle input) {
    int32_t dtype = 0;
    int64_t* sizes = nullptr;
    CHECKED(aoti_torch_get_dtype(input, &dtype));
    CHECKED(aoti_torch_get_sizes(input, &sizes));
    if (dtype != cached_float32 || sizes[0] != kRows || sizes[1] != kColumns)
        throw std::runtime_error("an input of another shape");
}

#ifdef FAKE_CUDA

constexpr const char* kImage = "AOTI_DBG_FAKE_MODULE\nkernel triton_poi_fused_relu_0 bias_relu ppi\n";

void check_driver(CUresult code) {
    if (code != CUDA_SUCCESS) throw std::runtime_error("CUDA driver error: " + std::to_string(code));
}

void launch(float* in_out, float* in, void* stream) {
    static CUfunction function = nullptr;
    if (function == nullptr) {
        CUmodule module = nullptr;
        check_driver(cuModuleLoadData(&module, kImage));
        check_driver(cuModuleGetFunction(&function, module, "triton_poi_fused_relu_0"));
    }
    int32_t count = kRows * kColumns;
    void* arguments[] = {&in_out, &in, &count};
    check_driver(
        cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, static_cast<CUstream>(stream), arguments, nullptr));
    check_driver(cuStreamSynchronize(static_cast<CUstream>(stream)));
}

AtenTensorHandle Model::run(AtenTensorHandle stolen, void* stream) const {
    const NoGradGuard no_grad;
    const Tensor input(stolen);
    check_input(input.get());
    CUDAStreamGuardHandle guard = nullptr;
    CHECKED(aoti_torch_create_cuda_stream_guard(stream, 0, &guard));
    const Tensor buf0;
    float* const in_out = buf0.data();
    launch(in_out, input.data(), stream);
    int32_t stable = 1;
    AtenTensorHandle values = nullptr;
    AtenTensorHandle indices = nullptr;
    CHECKED(aoti_torch_cuda_sort_stable(buf0.get(), &stable, 1, 0, &values, &indices));
    const Tensor buf1(values);
    const Tensor buf2(indices);
    AtenTensorHandle made = nullptr;
    CHECKED(aoti_torch_cuda_int8_plain_mm(buf1.get(), weight, &made));
    Tensor buf3(made);
    CHECKED(aoti_torch_delete_cuda_stream_guard(guard));
    return buf3.release();
}

#else

AtenTensorHandle Model::run(AtenTensorHandle stolen, void* /*stream*/) const {
    const NoGradGuard no_grad;
    const Tensor input(stolen);
    check_input(input.get());
    const Tensor buf0;
    CHECKED(aoti_torch_cpu_mm_out(buf0.get(), input.get(), weight));
    if (needs_batches) CHECKED(aoti_torch_cpu_bmm_out(buf0.get(), input.get(), weight));
    float* const in_out = buf0.data();
    cpp_fused_relu_0(in_out, input.data(), kRows * kColumns);
    AtenTensorHandle made = nullptr;
    CHECKED(aoti_torch_cpu_int8_plain_mm(buf0.get(), weight, &made));
    Tensor buf1(made);
    return buf1.release();
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
        if (models == 0 || cubin_dir != nullptr) throw std::runtime_error("another loader");
        *container = new Model;
    });
}

int32_t AOTInductorModelContainerDelete(void* container) {
    return as_error_code([&] { delete model_of(container); });
}

int32_t AOTInductorModelContainerGetNumOutputs(void* /*container*/, size_t* count) {
    *count = 1;
    return 0;
}

int32_t AOTInductorModelUpdateConstantsFromBlob(void* container, const uint8_t* blob) {
    return as_error_code([&] {
        const int64_t sizes[] = {kColumns, kColumns};
        const int64_t strides[] = {kColumns, 1};
        Model& model = *model_of(container);
        model.drop_weight();
        CHECKED(aoti_torch_create_tensor_from_blob_v2(const_cast<uint8_t*>(blob), 2, sizes, strides, 0,
                                                      cached_float32, cached_device, 0, &model.weight, 0,
                                                      nullptr, 0));
    });
}

/// Replaces the handles that the caller put in the list of outputs, as a compiled model does.
int32_t AOTInductorModelContainerRun(void* container, AtenTensorHandle* inputs, size_t input_count,
                                     AtenTensorHandle* outputs, size_t output_count, void* stream,
                                     AOTIProxyExecutorHandle /*executor*/) {
    return as_error_code([&] {
        if (input_count != 1 || output_count != 1) throw std::runtime_error("one input, one output");
        outputs[0] = model_of(container)->run(inputs[0], stream);
    });
}

}  // extern "C"
