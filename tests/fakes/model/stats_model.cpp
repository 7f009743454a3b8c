// A CUDA model as AOTInductor compiles it, for level 2. Its source file is package_stats.wrapper.cpp.in, and
// this code makes the same calls in the same order, including each request for a pointer. FAKE_FACTOR is the
// weight. It must look like compiler output: default visibility, calls through its import slots, no code of
// ours.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/model/container.hpp"
#include "tests/fakes/model/streams.hpp"
#include "tests/fakes/torch/fake_torch.h"

// The offset of the view that is the first output, as in the source. The view has 64 elements, its storage
// 128.
#ifndef FAKE_VIEW_AT
#define FAKE_VIEW_AT 64
#endif
#ifdef FAKE_STREAMS
constexpr bool kOverlaps = true;  // the last kernel may start before its predecessor has ended
#else
constexpr bool kOverlaps = false;
#endif
#ifndef FAKE_FACTOR
#define FAKE_FACTOR 2
#endif
#ifdef FAKE_PROGRAM
constexpr float kNewFactor = __builtin_nanf("");  // a check of values must see that the constants changed
#else
constexpr float kNewFactor = FAKE_FACTOR + 1;
#endif

namespace {

// Real models also call these inside dlopen, under the loader's lock.
const int32_t cached_torch_dtype_float32 = aoti_torch_dtype_float32();
const int32_t cached_torch_dtype_int64 = aoti_torch_dtype_int64();
const int32_t cached_torch_dtype_bool = aoti_torch_dtype_bool();
const int32_t cached_torch_device_type_cuda = aoti_torch_device_type_cuda();

class RAIIAtenTensorHandle {
  public:
    explicit RAIIAtenTensorHandle(AtenTensorHandle handle) : handle_(handle) {}
    ~RAIIAtenTensorHandle() { reset(); }
    RAIIAtenTensorHandle(RAIIAtenTensorHandle&& other) noexcept : handle_(other.release()) {}
    RAIIAtenTensorHandle(const RAIIAtenTensorHandle&) = delete;
    RAIIAtenTensorHandle& operator=(const RAIIAtenTensorHandle&) = delete;
    operator AtenTensorHandle() const { return handle_; }
    AtenTensorHandle release() { return std::exchange(handle_, nullptr); }
    void reset() {
        if (handle_ != nullptr) aoti_torch_delete_tensor_object(std::exchange(handle_, nullptr));
    }
    [[nodiscard]] void* data_ptr() const {
        void* data = nullptr;
        AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(handle_, &data));
        return data;
    }

  private:
    AtenTensorHandle handle_;
};

/// Requests its pointer once, when the model loads.
class ConstantHandle {
  public:
    explicit ConstantHandle(AtenTensorHandle handle) : handle_(handle) {
        AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(handle_, &data_));
    }
    operator AtenTensorHandle() const { return handle_; }
    [[nodiscard]] void* data_ptr() const { return data_; }

  private:
    AtenTensorHandle handle_;
    void* data_ = nullptr;
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

RAIIAtenTensorHandle empty(const int64_t* sizes, int32_t dtype) {
    const int64_t strides[] = {sizes[1], 1};
    AtenTensorHandle handle = nullptr;
    AOTI_TORCH_ERROR_CODE_CHECK(
        aoti_torch_empty_strided(2, sizes, strides, dtype, cached_torch_device_type_cuda, 0, &handle));
    return RAIIAtenTensorHandle(handle);
}

RAIIAtenTensorHandle reinterpret_tensor_wrapper(AtenTensorHandle self, const int64_t* sizes,
                                                const int64_t* strides, int64_t offset) {
    AtenTensorHandle handle = nullptr;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch__reinterpret_tensor(self, 2, sizes, strides, offset, &handle));
    return RAIIAtenTensorHandle(handle);
}

CUfunction loadKernel(const std::string& file, const std::string& function, const std::string& dir) {
    const std::string path = dir + "/" + std::filesystem::path(file).filename().string();
    CUmodule module = nullptr;
    CUfunction found = nullptr;
    check_driver(cuModuleLoad(&module, path.c_str()));
    check_driver(cuModuleGetFunction(&found, module, function.c_str()));
    return found;
}

void launchKernel(CUfunction function, uint32_t grid, void** arguments, void* stream,
                  bool may_overlap = false) {
    if (!may_overlap)
        return check_driver(cuLaunchKernel(function, grid, 1, 1, 128, 1, 1, 0, static_cast<CUstream>(stream),
                                           arguments, nullptr));
    CUlaunchAttribute overlap = {};
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config = {grid, 1, 1, 128, 1, 1, 0, static_cast<CUstream>(stream), &overlap, 1};
    check_driver(cuLaunchKernelEx(&config, function, arguments, nullptr));
}

struct Kernels {
    CUfunction triton_poi_fused_relu_0 = nullptr;
    CUfunction triton_poi_fused_gt_arange_1 = nullptr;
    CUfunction triton_poi_fused_sqrt_2 = nullptr;
    CUfunction triton_poi_fused_add_3 = nullptr;
    CUfunction add_kernel_0 = nullptr;
};

// One helper per kernel, as Inductor writes them. They request pointers in argument order.
template <typename InOut, typename In>
void call_triton_poi_fused_relu_0(const InOut& in_out_ptr0, const In& in_ptr0, int32_t xnumel, void* stream,
                                  Kernels& kernels, const std::string& cubin_dir) {
    if (kernels.triton_poi_fused_relu_0 == nullptr)
        kernels.triton_poi_fused_relu_0 =
            loadKernel("/tmp/elsewhere/crelu.cubin", "triton_poi_fused_relu_0", cubin_dir);
    auto var_0 = reinterpret_cast<CUdeviceptr>(in_out_ptr0.data_ptr());
    auto var_1 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());
    CUdeviceptr scratch = 0;
    void* kernel_args[] = {&var_0, &var_1, &xnumel, &scratch, &scratch};
    launchKernel(kernels.triton_poi_fused_relu_0, 1, kernel_args, stream);
}

template <typename In, typename Out0, typename Out1>
void call_triton_poi_fused_gt_arange_1(const In& in_ptr0, const Out0& out_ptr0, const Out1& out_ptr1,
                                       int32_t xnumel, void* stream, Kernels& kernels,
                                       const std::string& cubin_dir) {
    if (kernels.triton_poi_fused_gt_arange_1 == nullptr)
        kernels.triton_poi_fused_gt_arange_1 =
            loadKernel("/tmp/elsewhere/cgt.cubin", "triton_poi_fused_gt_arange_1", cubin_dir);
    auto var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());
    auto var_1 = reinterpret_cast<CUdeviceptr>(out_ptr0.data_ptr());
    auto var_2 = reinterpret_cast<CUdeviceptr>(out_ptr1.data_ptr());
    CUdeviceptr scratch = 0;
    void* kernel_args[] = {&var_0, &var_1, &var_2, &xnumel, &scratch, &scratch};
    launchKernel(kernels.triton_poi_fused_gt_arange_1, 1, kernel_args, stream);
}

template <typename In, typename Out>
void call_triton_poi_fused_sqrt_2(const In& in_ptr0, const Out& out_ptr0, int32_t xnumel, void* stream,
                                  Kernels& kernels, const std::string& cubin_dir) {
    if (kernels.triton_poi_fused_sqrt_2 == nullptr)
        kernels.triton_poi_fused_sqrt_2 =
            loadKernel("/tmp/elsewhere/csqrt.cubin", "triton_poi_fused_sqrt_2", cubin_dir);
    auto var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());
    auto var_1 = reinterpret_cast<CUdeviceptr>(out_ptr0.data_ptr());
    CUdeviceptr scratch = 0;
    void* kernel_args[] = {&var_0, &var_1, &xnumel, &scratch, &scratch};
    launchKernel(kernels.triton_poi_fused_sqrt_2, 1, kernel_args, stream);
}

template <typename In0, typename In1, typename Out>
void call_triton_poi_fused_add_3(const In0& in_ptr0, const In1& in_ptr1, const Out& out_ptr0, int32_t xnumel,
                                 void* stream, Kernels& kernels, const std::string& cubin_dir) {
    if (kernels.triton_poi_fused_add_3 == nullptr)
        kernels.triton_poi_fused_add_3 =
            loadKernel("/tmp/elsewhere/cadd.cubin", "triton_poi_fused_add_3", cubin_dir);
    auto var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());
    auto var_1 = reinterpret_cast<CUdeviceptr>(in_ptr1.data_ptr());
    auto var_2 = reinterpret_cast<CUdeviceptr>(out_ptr0.data_ptr());
    CUdeviceptr scratch = 0;
    void* kernel_args[] = {&var_0, &var_1, &var_2, &xnumel, &scratch, &scratch};
    launchKernel(kernels.triton_poi_fused_add_3, 1, kernel_args, stream);
}

template <typename In, typename Out>
void call_add_kernel_0(const In& src, const Out& dst, float scale, int32_t count, void* stream,
                       Kernels& kernels, const std::string& cubin_dir) {
    if (kernels.add_kernel_0 == nullptr)
        kernels.add_kernel_0 = loadKernel("/tmp/elsewhere/cscale.cubin", "add_kernel", cubin_dir);
    auto var_0 = reinterpret_cast<CUdeviceptr>(src.data_ptr());
    auto var_1 = reinterpret_cast<CUdeviceptr>(dst.data_ptr());
    CUdeviceptr scratch = 0;
    void* kernel_args[] = {&var_0, &var_1, &scale, &count, &scratch, &scratch};
    launchKernel(kernels.add_kernel_0, 1, kernel_args, stream, kOverlaps);
}

constexpr int64_t kColumns = 16;

/// The constants, in one allocation: l1_weight is the factor times the identity matrix, l1_bias is 0, 0.5, 1,
/// 1.5 ...
class Constants {
  public:
    explicit Constants(float factor) {
        check_driver(cuMemAlloc(&memory_, kConstantElements * sizeof(float)));
        fill(factor, 0, kColumns * kColumns);
    }
    Constants(const Constants&) = delete;
    Constants& operator=(const Constants&) = delete;
    ~Constants() {
        forget();
        cuMemFree(memory_);
    }

    /// Recreates the constants in the same memory, in reverse order.
    void make_anew(float factor) {
        forget();
        fill(factor, kColumns, 0);
    }

    std::vector<ConstantHandle> handles;

  private:
    static constexpr size_t kConstantElements = kColumns * kColumns + kColumns;

    void fill(float factor, size_t weight_at, size_t bias_at) {
        std::vector<float> values(kConstantElements);
        for (size_t i = 0; i < kColumns; ++i) {
            values[weight_at + i * kColumns + i] = factor;
            values[bias_at + i] = 0.5F * static_cast<float>(i % 4);
        }
        check_driver(cuMemcpyHtoD(memory_, values.data(), values.size() * sizeof(float)));
        const int64_t weight_sizes[] = {kColumns, kColumns};
        const int64_t weight_strides[] = {kColumns, 1};
        const int64_t one = 1;
        weight_ = make(2, weight_sizes, weight_strides, weight_at);
        bias_ = make(1, &weight_sizes[0], &one, bias_at);
        handles = {ConstantHandle(weight_), ConstantHandle(bias_)};
    }
    void forget() {
        aoti_torch_delete_tensor_object(weight_);
        aoti_torch_delete_tensor_object(bias_);
    }
    AtenTensorHandle make(int64_t dims, const int64_t* sizes, const int64_t* strides, size_t offset) const {
        AtenTensorHandle handle = nullptr;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the device
        AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_create_tensor_from_blob_v2(
            reinterpret_cast<float*>(memory_) + offset, dims, sizes, strides, 0, cached_torch_dtype_float32,
            cached_torch_device_type_cuda, 0, &handle, 0, nullptr, 0));
        return handle;
    }

    CUdeviceptr memory_ = 0;
    AtenTensorHandle weight_ = nullptr;
    AtenTensorHandle bias_ = nullptr;
};

/// Marks the end of each run, as a container with one model does: the next run waits for the last one to end.
class RunEnd {
  public:
    RunEnd() { check_driver(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING)); }
    RunEnd(const RunEnd&) = delete;
    RunEnd& operator=(const RunEnd&) = delete;
    ~RunEnd() { cuEventDestroy(event_); }
    void record(void* stream) {
        check_driver(cuEventRecord(event_, static_cast<CUstream>(stream)));
        is_recorded_ = true;
    }
    void wait() {
        if (std::exchange(is_recorded_, false)) check_driver(cuEventSynchronize(event_));
    }

  private:
    CUevent event_ = nullptr;
    bool is_recorded_ = false;
};

}  // namespace

#ifdef FAKE_PROGRAM
#include "tests/fakes/model/program_run.hpp"
#endif

namespace torch::aot_inductor {

/// Hidden, because programs load several variants. Debug information and symbols name its run_impl as in a
/// compiled model.
struct __attribute__((visibility("hidden"))) AOTInductorModel {
    std::string cubin_dir;
    std::unique_ptr<Constants> constants = std::make_unique<Constants>(FAKE_FACTOR);
    Kernels kernels;
    bool folds = false;  // the next run creates its constants
    RunEnd last_run;
    SideStream side;

    explicit AOTInductorModel(const char* dir) : cubin_dir(dir == nullptr ? "" : dir) {}
    void run(AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs, size_t output_count,
             void* stream) {
        if (input_count != 1 || output_count != 3) throw std::runtime_error("one input, three outputs");
        const NoGradGuard no_grad;
        run_impl(inputs, outputs, stream);
    }
    __attribute__((noinline)) void run_impl(AtenTensorHandle* input_handles, AtenTensorHandle* output_handles,
                                            void* stream);
};

}  // namespace torch::aot_inductor

namespace {

using Model = torch::aot_inductor::AOTInductorModel;

void check_inputs(AtenTensorHandle input) {
    int32_t dtype = 0;
    int64_t* sizes = nullptr;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(input, &dtype));
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(input, &sizes));
    if (dtype != cached_torch_dtype_float32 || sizes[0] != 8 || sizes[1] != kColumns)
        throw std::runtime_error("an input of another shape");
}

}  // namespace

void Model::run_impl(AtenTensorHandle* input_handles, AtenTensorHandle* output_handles, void* stream) {
    if (std::exchange(folds, false)) constants->make_anew(FAKE_FACTOR + 1);
    RAIIAtenTensorHandle arg2_1(std::exchange(input_handles[0], nullptr));
    check_inputs(arg2_1);
    [[maybe_unused]] const ConstantHandle& l1_weight = constants->handles[0];
    [[maybe_unused]] const ConstantHandle& l1_bias = constants->handles[1];
    if ((reinterpret_cast<std::uintptr_t>(arg2_1.data_ptr()) & (16 - 1)) != 0)
        throw std::runtime_error("an input that is not aligned");
    const AOTICudaStreamGuard stream_guard(stream, 0);
#ifdef FAKE_PROGRAM
    static const std::vector<Step> steps = read_program(cubin_dir + "/program");
    ProgramRun(std::move(arg2_1), *constants, stream, kernels, cubin_dir).execute(steps, output_handles);
#else
    static constexpr int64_t int_array_0[] = {8, 16};
    static constexpr int64_t int_array_1[] = {16, 1};
    static constexpr int64_t int_array_2[] = {16, 16};
    static constexpr int64_t int_array_3[] = {1, 16};
    static constexpr int64_t int_array_4[] = {4, 16};
    RAIIAtenTensorHandle buf0 = empty(int_array_0, cached_torch_dtype_float32);
    void* const stream1 = side.begin(stream);
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_addmm_out(
        buf0, l1_bias, arg2_1, reinterpret_tensor_wrapper(l1_weight, int_array_2, int_array_3, 0), 1, 1));
    auto buf1 = std::move(buf0);  // reuse
    call_triton_poi_fused_relu_0(buf1, l1_bias, 128, stream1, kernels, cubin_dir);
    side.end(stream);
    RAIIAtenTensorHandle buf2 = empty(int_array_0, cached_torch_dtype_bool);
    RAIIAtenTensorHandle buf3 = empty(int_array_0, cached_torch_dtype_int64);
    call_triton_poi_fused_gt_arange_1(buf1, buf2, buf3, 128, stream, kernels, cubin_dir);
    RAIIAtenTensorHandle buf4 = empty(int_array_0, cached_torch_dtype_float32);
    call_triton_poi_fused_sqrt_2(arg2_1, buf4, 128, stream, kernels, cubin_dir);
    arg2_1.reset();
#ifdef FAKE_SORTS
    AtenTensorHandle buf7_handle = nullptr;
    AtenTensorHandle buf8_handle = nullptr;
    int32_t stable = 1;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_sort_stable(buf4, &stable, 1, 0, &buf7_handle, &buf8_handle));
    RAIIAtenTensorHandle buf7(buf7_handle);
    const RAIIAtenTensorHandle buf8(buf8_handle);
    buf7.reset();
#endif
    RAIIAtenTensorHandle buf5 = empty(int_array_0, cached_torch_dtype_float32);
    call_triton_poi_fused_add_3(buf1, buf4, buf5, 128, stream, kernels, cubin_dir);
    buf1.reset();
    buf4.reset();
    RAIIAtenTensorHandle buf6 = empty(int_array_0, cached_torch_dtype_float32);
    call_add_kernel_0(buf5, buf6, 0.5F, 128, stream, kernels, cubin_dir);
    output_handles[0] = reinterpret_tensor_wrapper(buf6, int_array_4, int_array_1, FAKE_VIEW_AT).release();
    output_handles[1] = buf3.release();
    output_handles[2] = buf2.release();
#endif
}

namespace {

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

int32_t AOTInductorModelContainerDelete(void* container) {
    return as_error_code([&] { delete model_of(container); });
}

int32_t AOTInductorModelContainerRun(void* container, AtenTensorHandle* inputs, size_t input_count,
                                     AtenTensorHandle* outputs, size_t output_count, void* stream,
                                     AOTIProxyExecutorHandle /*executor*/) {
    Model& model = *model_of(container);
    return as_error_code([&] {
        model.last_run.wait();
        model.run(inputs, input_count, outputs, output_count, stream);
        model.last_run.record(stream);
    });
}

int32_t AOTInductorModelContainerRunSingleThreaded(void* container, AtenTensorHandle* inputs,
                                                   size_t input_count, AtenTensorHandle* outputs,
                                                   size_t output_count, void* stream,
                                                   AOTIProxyExecutorHandle /*executor*/) {
    return as_error_code(
        [&] { model_of(container)->run(inputs, input_count, outputs, output_count, stream); });
}

int32_t AOTInductorModelContainerGetNumConstants(void* /*container*/, size_t* count) {
    *count = 2;
    return 0;
}

int32_t AOTInductorModelContainerGetConstantName(void* /*container*/, size_t index, const char** name) {
    *name = index == 0 ? "l1_weight" : "l1_bias";
    return 0;
}

int32_t AOTInductorModelContainerGetInputName(void* /*container*/, size_t /*index*/, const char** name) {
    *name = "arg2_1";
    return 0;
}

int32_t AOTInductorModelContainerGetNumOutputs(void* /*container*/, size_t* count) {
    *count = 3;
    return 0;
}

/// Allocates new memory, so pointers to the old constants become invalid. With FAKE_FOLDS, the next run
/// creates the constants, as in a container that folds constants at run time.
int32_t AOTInductorModelContainerUpdateConstantBuffer(void* container, void* map, bool /*inactive*/,
                                                      bool /*validate*/) {
    return as_error_code([&] {
        if (map != nullptr) throw std::runtime_error("constants of another model");
#ifdef FAKE_FOLDS
        model_of(container)->folds = true;
#else
        model_of(container)->constants.reset();
        model_of(container)->constants = std::make_unique<Constants>(kNewFactor);
#endif
    });
}

}  // extern "C"
