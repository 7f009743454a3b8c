// The helper functions through which a wrapper launches its Triton kernels, as releases of PyTorch write
// them.
#include "model/triton_helper.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/call_sites_fixture.hpp"

namespace aoti_dbg::triton_helper_test {
namespace {

TEST_CASE("A helper function does not hide its kernel's signature; a kernel without one may write anything") {
    const std::string head =
        "template <typename kernels_type_>\nstatic inline void call_triton_red_fused_cumsum_2(\n"
        "    const in_out_ptr0_type_& in_out_ptr0,\n    const in_ptr0_type_& in_ptr0,\n    int64_t xnumel,\n"
        "    int32_t device_idx_,\n    cudaStream_t stream_,\n    kernels_type_& kernels_\n){\n";
    const std::string helper =
        "    /*\n    async_compile.triton('triton_red_fused_cumsum_2', '''\n    @triton.jit\n"
        "    def _triton_helper_fn_add0(arg0_0, arg1_0):\n        return arg0_0 + arg1_0\n"
        "    @triton_heuristics.reduction(\n"
        "        triton_meta={'signature': {'in_out_ptr0': '*fp32', 'in_ptr0': '*i1', 'xnumel': 'i32'}},\n"
        "        inductor_meta={'mutated_arg_names': ['in_out_ptr0']}\n    )\n    @triton.jit\n"
        "    def triton_red_fused_cumsum_2(in_out_ptr0, in_ptr0, xnumel):\n        pass\n    ''')\n    */\n";
    const WrapperInfo info = read_wrapper(head + helper + "}\n");
    REQUIRE(info.triton_kernels.size() == 1);
    const std::vector<TritonParameter>& parameters = info.triton_kernels[0].parameters;
    REQUIRE(parameters.size() == 3);
    CHECK(parameters[0].type == "*fp32");
    CHECK(parameters[0].role == Role::updates);
    CHECK(parameters[1].role == Role::reads);
    const WrapperInfo untold = read_wrapper(head + "}\n");
    REQUIRE(untold.triton_kernels.size() == 1);
    for (const TritonParameter& parameter : untold.triton_kernels[0].parameters)
        CHECK(parameter.role == Role::unknown);
}

TEST_CASE("Helpers of newer releases are read; without the kernel's source, names give the roles") {
    const std::string head =
        "template <typename in_ptr0_type_, typename out_ptr0_type_, typename kernels_type_>\n"
        "static __attribute__((noinline)) void call_triton_poi_fused_add_0(\n"
        "    const in_ptr0_type_& in_ptr0,\n    const out_ptr0_type_& out_ptr0,\n    int64_t xnumel,\n"
        "    int32_t device_idx_,\n    cudaStream_t stream_,\n    kernels_type_& kernels_\n){\n";
    const std::string body =
        "    if (kernels_.triton_poi_fused_add_0 == nullptr) {\n"
        "        kernels_.triton_poi_fused_add_0 = loadKernel(\n"
        "            triton_poi_fused_add_0_result.cubin_path,\n"
        "            triton_poi_fused_add_0_result.mangled_name,\n"
        "            triton_poi_fused_add_0_result.shared_mem,\n            cubin_dir_);\n    }\n"
        "    int XBLOCK = triton_poi_fused_add_0_result.xblocks[0];\n"
        "    uint32_t grid_0 = ((xnumel + (XBLOCK - 1)) / (XBLOCK));\n    if (grid_0 == 0) return;\n"
        "    CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());\n"
        "    CUdeviceptr var_1 = reinterpret_cast<CUdeviceptr>(out_ptr0.data_ptr());\n"
        "    int var_2 = xnumel;\n"
        "    int64_t global_scratch_ptr_numel = triton_poi_fused_add_0_result.global_scratch * grid_0;\n"
        "    RAIIAtenTensorHandle global_scratch_ptr_tensor;\n"
        "    CUdeviceptr global_scratch_ptr = allocate_scratch_tensor<CUdeviceptr>(\n"
        "        global_scratch_ptr_numel, u8, cuda, device_idx_, global_scratch_ptr_tensor);\n"
        "    void* kernel_args_[] = {&var_0, &var_1, &var_2, &global_scratch_ptr};\n"
        "    launchKernel(kernels_.triton_poi_fused_add_0, grid_0, 1, 1, 4, 0, kernel_args_, stream_, "
        "false);\n}\n";
    const WrapperInfo info = read_wrapper(
        "#define TRITON_POI_FUSED_ADD_0_XBLOCKS {128}\n#include <torch/x.h>\nstatic LazyKernelCompileResult "
        "triton_poi_fused_add_0_result = {\n    TRITON_POI_FUSED_ADD_0_CUBIN_PATH,\n};\n" +
        head + body +
        "void AOTInductorModel::run_impl(AtenTensorHandle* input_handles) {\n"
        "    call_triton_poi_fused_add_0(arg0_1, buf0, 128L, this->device_idx_, stream1, kernels, "
        "this->cubin_dir_);\n}\n");
    REQUIRE(info.triton_kernels.size() == 1);
    const TritonKernelInfo& kernel = info.triton_kernels[0];
    REQUIRE(kernel.parameters.size() == 3);
    CHECK(kernel.parameters[0].role == Role::reads);
    CHECK(kernel.parameters[1].role == Role::writes);
    CHECK(kernel.launched == std::vector<std::uint32_t>{0, 1, 2, kNone});
    REQUIRE(info.run.sites.size() == 1);
    CHECK(info.run.sites[0].arguments[0].label() == "arg0_1");
    CHECK(info.run.sites[0].arguments[1].role == Role::writes);
}

TEST_CASE("A C++ wrapper of torch.compile is read; its inputs have the names of the body") {
    const WrapperInfo info = read_wrapper(
        "static CUfunction triton_poi_fused_add_0 = nullptr;\n"
        "template <typename in_ptr0_type_, typename out_ptr0_type_>\n"
        "static inline void call_triton_poi_fused_add_0(\n"
        "    const in_ptr0_type_& in_ptr0,\n    const out_ptr0_type_& out_ptr0,\n    int64_t xnumel,\n"
        "    int32_t device_idx_,\n    cudaStream_t stream_,\n"
        "    const std::optional<std::string>& cubin_dir_ = std::nullopt\n){\n"
        "    if (triton_poi_fused_add_0 == nullptr) {\n"
        "        triton_poi_fused_add_0 = loadKernel(\"/tmp/x/c2ee.cubin\", \"triton_poi_fused_add_0\", 0, "
        "cubin_dir_);\n    }\n"
        "    CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());\n"
        "    CUdeviceptr var_1 = reinterpret_cast<CUdeviceptr>(out_ptr0.data_ptr());\n"
        "    int var_2 = xnumel;\n    void* kernel_args_[] = {&var_0, &var_1, &var_2};\n"
        "    launchKernel(triton_poi_fused_add_0, 1, 1, 1, 4, 0, kernel_args_, stream_);\n}\n"
        "void inductor_entry_impl(\n    AtenTensorHandle* input_handles,\n"
        "    AtenTensorHandle* output_handles\n) {\n    py::gil_scoped_release_simple release;\n"
        "    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 2);\n    int64_t arg0_1;\n"
        "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_int64(inputs[0], &arg0_1));\n"
        "    auto arg1_1 = std::move(inputs[1]);\n    int64_t s77 = arg0_1;\n"
        "    call_triton_poi_fused_add_0(arg1_1, buf0, s77, 0, stream0);\n    arg1_1.reset();\n"
        "    output_handles[0] = buf0.release();\n} // inductor_entry_impl\n");
    CHECK(info.inputs == std::vector<std::string>{"arg0_1", "arg1_1"});
    REQUIRE(info.triton_kernels.size() == 1);
    CHECK(info.triton_kernels[0].cubin == "c2ee");
    REQUIRE(info.triton_kernels[0].parameters.size() == 3);
    CHECK(info.triton_kernels[0].launched == std::vector<std::uint32_t>{0, 1, 2});
    REQUIRE(info.run.sites.size() == 1);
    const CallSite& add = info.run.sites[0];
    REQUIRE(add.arguments.size() == 3);
    CHECK(add.arguments[0].role == Role::reads);
    CHECK(add.arguments[1].role == Role::writes);
    CHECK(add.arguments[1].label() == "buf0");
    REQUIRE(info.run.outputs.size() == 1);
    CHECK(info.run.outputs[0].name == "buf0");
}

}  // namespace
}  // namespace aoti_dbg::triton_helper_test
