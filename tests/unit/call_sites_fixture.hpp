// Shared by the tests of the call sites: the sources in tests/unit/data/call_sites, a CUDA one, and random
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "model/call_sites.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg {

inline std::string test_data(const std::string& name) {
    std::ifstream file(std::string(places::kTestData) + "/call_sites/" + name, std::ios::binary);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline WrapperInfo read_wrapper(std::string_view source, std::string_view extern_nodes = {},
                                std::string_view kernel_information = {}) {
    WrapperTexts texts;
    texts.wrapper = source;
    texts.extern_nodes = extern_nodes;
    texts.kernel_information = kernel_information;
    return read_call_sites(texts);
}

/// The call sites of a body with these lines.
inline WrapperInfo read_body(const std::string& lines) {
    return read_wrapper("void AOTInductorModel::run_impl(AtenTensorHandle* input_handles) {\n" + lines +
                        "}\n");
}

/// A hand-written source in the style of Inductor's for CUDA. It has two of its kernels, a user's own kernel,
/// an aligned input, a pool and a view by type. It also has a library kernel, an op in place and a returned
/// constant.
inline constexpr std::string_view kCudaWrapper = R"source(
#include <torch/csrc/inductor/aoti_include/cuda.h>
#define CUDA_DRIVER_CHECK(EXPR) do { CUresult code = EXPR; } while (0);
CACHE_TORCH_DTYPE(float16);
namespace torch::aot_inductor {
namespace {
class AOTInductorModelKernels : public AOTInductorModelKernelsBase {
  public:
    CUfunction triton_red_fused_add_0{nullptr};
};
}  // namespace
AOTInductorModel::AOTInductorModel(std::shared_ptr<ConstantMap> constants_map, const std::string& device_str)
    : AOTInductorModelBase(2, 3, 1, device_str, true) {
    inputs_info_[0].name = "arg5_1";
    inputs_info_[1].name = "arg6_1";
    constants_info_[0].name = "l1_bias";
    constants_info_[0].dtype = static_cast<int32_t>(cached_torch_dtype_float16);
    constants_info_[0].shape = {512};
    constants_info_[0].from_folded = true;
    constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::FoldedConstant);
    constants_info_[0].original_fqn = "blocks.0.l1.bias";
    outputs_info_[0].name = "output0";
    outputs_info_[1].name = "output1";
}
} // namespace torch::aot_inductor
template <typename in_out_ptr0_type_, typename in_ptr0_type_, typename out_ptr1_type_, typename kernels_type_>
static inline void call_triton_red_fused_add_0(
    const in_out_ptr0_type_& in_out_ptr0,
    const in_ptr0_type_& in_ptr0,
    const out_ptr1_type_& out_ptr1,
    int64_t ks0,
    int64_t xnumel,
    int32_t device_idx_,
    cudaStream_t stream_,
    kernels_type_& kernels_,
    const std::optional<std::string>& cubin_dir_ = std::nullopt
){
    /*
    async_compile.triton('triton_red_fused_add_0', '''
    import triton
    @triton_heuristics.reduction(
        filename=__file__,
        triton_meta={'signature': {'in_out_ptr0': '*fp16', 'in_ptr0': '*fp16', 'out_ptr1': '*fp32', 'ks0': 'i64', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
        inductor_meta={'kernel_name': 'triton_red_fused_add_0', 'mutated_arg_names': ['in_out_ptr0', 'in_ptr0'], 'spill_threshold': 16}
    )
    @triton.jit
    def triton_red_fused_add_0(in_out_ptr0, in_ptr0, out_ptr1, ks0, xnumel, XBLOCK : tl.constexpr):
        xindex = tl.program_id(0) // 2  # it's here
        tl.store(out_ptr1 + xindex, 0)
    ''', device_str='cuda')
    */
    uint32_t grid_0 = ((xnumel + (64 - 1)) / (64));
    if (grid_0 == 0) return;
    if (kernels_.triton_red_fused_add_0 == nullptr) {
        kernels_.triton_red_fused_add_0 = loadKernel("/tmp/t/c2ee.cubin", "triton_red_fused_add_0", 4352, cubin_dir_);
    }
    CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(in_out_ptr0.data_ptr());
    CUdeviceptr var_1 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());
    CUdeviceptr var_2 = reinterpret_cast<CUdeviceptr>(out_ptr1.data_ptr());
    int32_t var_3 = xnumel;
    CUdeviceptr global_scratch_4 = 0;
    void* kernel_args_[] = {&var_0, &var_1, &var_2, &var_3, &global_scratch_4};
    launchKernel(kernels_.triton_red_fused_add_0, grid_0, 1, 1, 4, 4352, kernel_args_, stream_);
}
template <typename in_ptr_type_, typename kernels_type_>
static inline void call_add_kernel_0(
    const in_ptr_type_& src,
    const in_ptr_type_& dst,
    float scale,
    int32_t device_idx_,
    cudaStream_t stream_,
    kernels_type_& kernels_
){
    /*
    async_compile.triton('add_kernel_0', '''
    @triton_heuristics.user_autotune(
        inductor_meta={'kernel_name': 'add_kernel_0'},
        triton_meta={'signature': {'src': '*fp32', 'dst': '*fp32', 'scale': 'fp32'}},
        custom_kernel=True,
    )
    @triton.jit
    def add_kernel(src, dst, scale):
        pass
    ''', device_str='cuda')
    */
    kernels_.add_kernel_0 = loadKernel(__add_kernel_0_start, "add_kernel", 0);
    launchKernel(kernels_.add_kernel_0, 1, 1, 1, 4, 0, kernel_args_, stream_);
}
namespace torch::aot_inductor {
void AOTInductorModel::_const_run_impl(std::vector<AtenTensorHandle>& output_handles, DeviceStreamType stream) {
    auto& l1_bias_raw = constants_->at(1);
    AtenTensorHandle buf0_handle;
    RAIIAtenTensorHandle buf0(buf0_handle);
    call_triton_poi_fused_unknown_9(l1_bias_raw, buf0, 12L, this->device_idx_, stream, kernels, this->cubin_dir_);
    output_handles[0] = buf0.release();
}
void AOTInductorModel::run_impl(
    AtenTensorHandle* input_handles, // array of input AtenTensorHandle; handles
    DeviceStreamType stream
) {
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 2);
    auto arg5_1 = std::move(inputs[0]);
    auto arg6_1 = std::move(inputs[1]);
    [[maybe_unused]] auto& l1_bias = constants_->at(0);
    auto arg5_1_size = arg5_1.sizes();
    int64_t s77 = arg5_1_size[0];
    if ((reinterpret_cast<std::uintptr_t>(arg5_1.data_ptr()) & (16 -1)) != 0) {
        AOTI_TORCH_WARN("Input 0 was compiled as 16-bytes aligned; it's not, (copying");
        AtenTensorHandle arg5_1_aligned;
        aoti_torch_clone_preserve_strides(arg5_1, &arg5_1_aligned);
        arg5_1 = std::move(RAIIAtenTensorHandle(arg5_1_aligned));
    }
    inputs.clear();
    [[maybe_unused]] auto& kernels = static_cast<AOTInductorModelKernels&>(*this->kernels_.get());
    AOTICudaStreamGuard stream_guard(stream, this->device_idx_);
    const int64_t int_array_0[] = {s77, 512L};
    static constexpr int64_t int_array_1[] = {512L, 1L};
    AtenTensorHandle pool1_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_0, int_array_1, cached_torch_dtype_float16, cached_torch_device_type_cuda, this->device_idx_, &pool1_handle));
    RAIIAtenTensorHandle pool1(pool1_handle);
    AtenTensorHandle tmp_tensor_handle_0;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch__alloc_from_pool(pool1, 1024, cached_torch_dtype_float32, 2, int_array_0, int_array_1, &tmp_tensor_handle_0));
    auto buf0 = RAIIAtenTensorHandle(tmp_tensor_handle_0);
    // Topologically Sorted Source Nodes: [linear, add_1], Original ATen: [aten.addmm, aten.add]
    // [Provenance debug handles] triton_red_fused_add_0:7
    call_triton_red_fused_add_0(arg5_1, l1_bias, buf0, s77, 512L*s77, this->device_idx_, stream, kernels, this->cubin_dir_);
    // Topologically Sorted Source Nodes: [], Original ATen: []
    call_add_kernel_0(buf0, wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg6_1, 1, int_array_1, int_array_1, 8L)), 0.5, this->device_idx_, stream, kernels);
    auto buf1 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf0, 2, int_array_1, int_array_1, 0L)); buf0.reset();  // reuse
    AtenTensorHandle tmp_buf1_2;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_view_dtype(buf1, cached_torch_dtype_int32, &tmp_buf1_2));
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_index_put_(RAIIAtenTensorHandle(tmp_buf1_2), std::array<const AtenTensorHandle*, 2>{nullptr, &temporary_reference(arg6_1.get())}.data(), 2, l1_bias, 0));
    auto buf1_as_strided = reinterpret_tensor_wrapper(buf1, 2, int_array_0, int_array_1, 4L);
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_bmm_out_v2(buf1_as_strided, arg5_1, arg6_1));
    kernels.cuda_fused_0((const half*)(arg5_1.data_ptr()), (half*)(buf1.data_ptr()), nullptr, 12, stream);
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_copy_(arg6_1, buf1, 0));
    auto var_9 = wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(buf1, 1, int_array_0, int_array_1, 0L));
    output_handles[0] = var_9.release();
    aoti_torch_clone(l1_bias, &output_handles[1]);
    output_handles[2] = output_handles[0];
} // AOTInductorModel::run_impl
} // namespace torch::aot_inductor
)source";

}  // namespace aoti_dbg
