// Call sites from wrapper sources: real models, judged by PyTorch's own debug printer, and hand-written CUDA
// ones.

#include "model/call_sites.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/call_sites_fixture.hpp"

namespace aoti_dbg::call_sites_test {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;  // kernel and label

/// What the printer built into a source prints with this prefix, in order.
Labels printed(const std::string& source, const std::string& prefix) {
    Labels labels;
    const std::string mark = "\"" + prefix + " - ";
    for (std::size_t at = source.find(mark); at != std::string::npos; at = source.find(mark, at + 1)) {
        const std::size_t begin = at + mark.size();
        const std::string text = source.substr(begin, source.find('"', begin) - begin);
        const std::size_t dash = text.find(" - ");
        labels.emplace_back(dash == std::string::npos ? "" : text.substr(0, dash),
                            dash == std::string::npos ? text : text.substr(dash + 3));
    }
    return labels;
}

/// PyTorch names an op by its shim function, or at::_ops::<op>::call.
std::string shim_of(const std::string& kernel) {
    constexpr const char* kBegin = "at::_ops::";
    if (!kernel.starts_with(kBegin)) return kernel;
    const std::size_t begin = std::string(kBegin).size();
    return "aoti_torch_cpu_" + kernel.substr(begin, kernel.find("::", begin) - begin);
}

/// The labels that PyTorch would print for our call sites. It leaves out everything not written as buf... or
/// arg....
Labels expected_of(const RunBody& body) {
    Labels labels;
    for (const CallSite& site : body.sites) {
        if (site.kind == SiteKind::proxy || site.function == "aoti_torch_cpu_scatter_reduce_two_out")
            continue;
        for (const Argument& argument : site.arguments) {
            if (argument.kind != ArgumentKind::tensor) continue;
            const std::string label(argument.label());
            const std::string written = site.kind == SiteKind::cpp ? label : argument.text;
            if (written.starts_with("buf") || written.starts_with("arg"))
                labels.emplace_back(site.name, label);
        }
    }
    return labels;
}

const CallSite& site(const WrapperInfo& info, const std::string& name, std::size_t which = 0) {
    for (const CallSite& candidate : info.run.sites) {
        if (candidate.name == name && which-- == 0) return candidate;
    }
    FAIL("no call site " << name);
    return info.run.sites.front();
}

TensorName plain(const std::string& name) {
    return {name, std::nullopt};
}

TEST_CASE("Labels are those of PyTorch's printer, in its order") {
    const std::string model =
        GENERATE("linear_softmax", "dynamic_batch", "fallback_ops", "custom_op", "frozen_conv");
    CAPTURE(model);
    const std::string printer = test_data(model + ".printer.cpp.txt");
    const WrapperInfo info = read_wrapper(test_data(model + ".released.cpp.txt"));
    REQUIRE(info.is_complete);

    for (const char* const side : {"before_launch", "after_launch"}) {
        Labels judged = printed(printer, side);
        REQUIRE_FALSE(judged.empty());
        for (auto& [kernel, label] : judged) {
            kernel = shim_of(kernel);
        }
        CHECK(expected_of(info.run) == judged);
    }
    Labels inputs;
    for (const std::string& input : info.inputs) {
        inputs.emplace_back("", input);
    }
    CHECK(inputs == printed(printer, "aoti_model_inputs"));
}

TEST_CASE("The printer's own calls are not call sites") {
    const std::string model = GENERATE("linear_softmax", "fallback_ops", "frozen_conv");
    const WrapperInfo released = read_wrapper(test_data(model + ".released.cpp.txt"));
    const WrapperInfo printer = read_wrapper(test_data(model + ".printer.cpp.txt"));
    REQUIRE(printer.run.sites.size() == released.run.sites.size());
    for (std::size_t at = 0; at < printer.run.sites.size(); ++at) {
        CHECK(printer.run.sites[at].key == released.run.sites[at].key);
    }
}

TEST_CASE("A linear model is read completely: inputs, weights, calls, memory, outputs") {
    const WrapperInfo info = read_wrapper(test_data("linear_softmax.released.cpp.txt"));
    CHECK(info.inputs == std::vector<std::string>{"arg4_1"});
    CHECK(info.output_names == std::vector<std::string>{"output0"});
    REQUIRE(info.constants.size() == 3);
    CHECK(info.constants[2].name == "second_weight");
    CHECK(info.constants[2].original_fqn == "second.weight");
    CHECK(info.constants[2].dtype == "float32");
    CHECK(info.constants[2].shape == "{4, 16}");
    CHECK(info.constants[2].type == "Parameter");

    REQUIRE(info.run.sites.size() == 4);
    const CallSite& linear = info.run.sites[0];
    CHECK(linear.kind == SiteKind::op);
    CHECK(linear.function == "aoti_torch_cpu_addmm_out");
    CHECK(linear.source_nodes == std::vector<std::string>{"linear"});
    CHECK(linear.original_aten == std::vector<std::string>{"aten.t", "aten.addmm"});
    REQUIRE(linear.arguments.size() == 6);
    CHECK(linear.arguments[0].role == Role::writes);
    CHECK(linear.arguments[1].label() == "first_bias");
    CHECK(linear.arguments[2].role == Role::reads);
    CHECK(linear.arguments[3].tensors ==
          std::vector<TensorName>{{"first_weight", WrittenView{"{10L, 16L}", "{1L, 10L}", "0L", ""}}});
    CHECK(linear.arguments[4].kind == ArgumentKind::scalar);
    CHECK(linear.arguments[4].value == "1L");

    const CallSite& relu = info.run.sites[1];
    CHECK(relu.kind == SiteKind::cpp);
    CHECK(relu.source_nodes.empty());  // the comment before belongs to the previous call
    CHECK(relu.arguments[0].parameter == "in_out_ptr0");
    CHECK(relu.arguments[0].role == Role::updates);
    CHECK(relu.arguments[1].role == Role::writes);
    CHECK(info.run.sites[3].arguments[0].role == Role::reads);
    CHECK(info.run.sites[3].arguments[0].type == "const float*");

    REQUIRE(info.run.shared_memory.size() == 1);
    CHECK(info.run.shared_memory[0].name == "buf1");
    CHECK(info.run.shared_memory[0].of == "buf0");
    CHECK(info.run.shared_memory[0].from == 1);
    REQUIRE(info.run.allocations.size() == 5);
    CHECK(info.run.allocations[0].name == "buf0");
    CHECK(info.run.allocations[0].sizes == "{8L, 16L}");
    CHECK(info.run.allocations[0].dtype == "float32");
    CHECK(info.run.allocations[0].device == "cpu");
    REQUIRE(info.run.frees.size() == 3);
    CHECK(info.run.frees[0].name == "arg4_1");
    CHECK(info.run.frees[0].before == 1);
    CHECK(info.run.outputs == std::vector<TensorName>{plain("buf5")});
}

TEST_CASE("Symbolic sizes are kept, and passed as scalars") {
    const WrapperInfo info = read_wrapper(test_data("dynamic_batch.released.cpp.txt"));
    CHECK(info.run.symbols.at("s77") == "arg2_1_size[0]");
    CHECK(info.run.allocations[0].sizes == "{s77, 12L}");
    const CallSite& norm = site(info, "cpp_fused_add_native_layer_norm_sum_0");
    REQUIRE(norm.arguments.size() == 7);
    CHECK(norm.arguments[6].kind == ArgumentKind::scalar);
    CHECK(norm.arguments[6].label() == "s77");
    CHECK(norm.arguments[6].parameter == "ks0");
}

TEST_CASE("Fallback ops have outputs by handle, values by address, and several results") {
    const WrapperInfo info = read_wrapper(test_data("fallback_ops.released.cpp.txt"));
    const CallSite& sort = site(info, "aoti_torch_cpu_sort_stable");
    REQUIRE(sort.arguments.size() == 6);
    CHECK(sort.arguments[1].kind == ArgumentKind::scalar);
    CHECK(sort.arguments[1].value == "1");
    CHECK(sort.arguments[4].tensors == std::vector<TensorName>{plain("buf1")});
    CHECK(sort.arguments[4].role == Role::writes);
    CHECK(sort.arguments[5].label() == "buf2");
    CHECK(site(info, "aoti_torch_cpu_cumsum").arguments[2].value == "cached_torch_dtype_int64");
    CHECK(site(info, "aoti_torch_cpu__fft_r2c").arguments[1].kind == ArgumentKind::scalar_list);
    std::string newer = test_data("fallback_ops.released.cpp.txt");
    const std::string list = "std::array<int64_t, 1>{1L}.cbegin()";
    REQUIRE(newer.find(list) != std::string::npos);
    newer.replace(newer.find(list), list.size(),
                  "static_cast<const int64_t*>(std::array<int64_t, 1>{1L}.data())");
    const WrapperInfo newer_info = read_wrapper(newer);
    const Argument& dimensions = site(newer_info, "aoti_torch_cpu__fft_r2c").arguments[1];
    CHECK(dimensions.kind == ArgumentKind::scalar_list);
    CHECK(dimensions.value == "{1L}");
    const CallSite& scatter = site(info, "aoti_torch_cpu_scatter_reduce_two_out");
    CHECK(scatter.arguments[0].role == Role::writes);
    CHECK(scatter.arguments[5].kind == ArgumentKind::string);
    CHECK(scatter.arguments[5].value == "sum");
    REQUIRE(info.run.outputs.size() == 5);
    CHECK(info.run.outputs[2].name == "buf11");  // through var_2
    CHECK(info.run.outputs[2].view->strides == "{8L, 2L}");
}

TEST_CASE("An optional tensor is distinguished from a tensor, and so are constants in different layouts") {
    const WrapperInfo info = read_wrapper(test_data("frozen_conv.released.cpp.txt"));
    const CallSite& convolution = site(info, "aoti_torch_cpu_mkldnn__convolution_pointwise");
    CHECK(convolution.arguments[1].label() == "_frozen_param12");
    CHECK(convolution.arguments[2].kind == ArgumentKind::optional_tensor);
    CHECK(convolution.arguments[2].label() == "buf0");
    CHECK(convolution.arguments[2].role == Role::reads);
    CHECK(site(info, "aoti_torch_cpu__linear_pointwise").arguments[3].value == "none");
}

TEST_CASE("A custom op has its own name and arguments, if the JSON has them") {
    const std::string source = test_data("custom_op.released.cpp.txt");
    const WrapperInfo info = read_wrapper(source, test_data("custom_op.json"));
    const CallSite& second = site(info, "mylib::my_op", 1);
    CHECK(second.kind == SiteKind::proxy);
    CHECK(second.proxy_node == 1);
    CHECK(second.key == proxy_key(1));
    REQUIRE(second.arguments.size() == 3);
    CHECK(second.arguments[0].parameter == "x");
    CHECK(second.arguments[0].label() == "buf2");
    CHECK(second.arguments[1].parameter == "scale");
    CHECK(second.arguments[1].value == "-1.0");
    CHECK(second.arguments[2].label() == "buf4");
    CHECK(second.arguments[2].role == Role::writes);

    const WrapperInfo without = read_wrapper(source);
    const CallSite& bare = site(without, "aoti_torch_proxy_executor_call_function");
    CHECK(bare.key == proxy_key(0));
    REQUIRE(bare.arguments.size() == 6);
    CHECK(bare.arguments[5].kind == ArgumentKind::tensor_list);
    CHECK(bare.arguments[5].tensors == std::vector<TensorName>{plain("buf0"), plain("buf2")});
}

TEST_CASE("The temporaries and lists that PyTorch 2.6 writes refer to the tensors themselves") {
    const WrapperInfo info = read_body(
        "auto weight = constants_->at(0);\nauto bias = constants_->at(1);\n"
        "auto tmp_tensor_handle_0 = reinterpret_tensor_wrapper(weight, 2, int_array_0, int_array_1, 0L);\n"
        "RAIIAtenTensorHandle tmp_tensor_handle_0_raii(tmp_tensor_handle_0);\n"
        "AtenTensorHandle var_2 = bias.get();\n"
        "aoti_torch_cpu__linear_pointwise(buf4, tmp_tensor_handle_0_raii, &var_2, \"none\", 0, 0, 0, "
        "&buf6_handle);\n"
        "aoti_torch_proxy_executor_call_function(proxy_executor, 0, 0, std::vector<int64_t>{}.data(), 2, "
        "std::vector<AtenTensorHandle>{buf0, buf2}.data());\n");
    const CallSite& linear = site(info, "aoti_torch_cpu__linear_pointwise");
    CHECK(linear.arguments[1].label() == "weight");
    REQUIRE(linear.arguments[1].tensors.size() == 1);
    CHECK(linear.arguments[1].tensors[0].view.has_value());
    CHECK(linear.arguments[2].label() == "bias");
    CHECK(linear.arguments[2].kind == ArgumentKind::optional_tensor);
    CHECK(linear.arguments[2].role == Role::reads);
    CHECK(linear.arguments[7].role == Role::writes);
    const CallSite& custom = site(info, "aoti_torch_proxy_executor_call_function");
    REQUIRE(custom.arguments.size() == 6);
    CHECK(custom.arguments[3].kind == ArgumentKind::scalar_list);
    CHECK(custom.arguments[5].kind == ArgumentKind::tensor_list);
    CHECK(custom.arguments[5].tensors == std::vector<TensorName>{plain("buf0"), plain("buf2")});
}

TEST_CASE("A custom op's other inputs have a known kind, and integers a known count") {
    const std::string source = test_data("custom_op.released.cpp.txt");
    const WrapperInfo info =
        read_wrapper(source, R"({"nodes": [{"node": {"target": "mylib::my_op", "inputs": [
        {"name": "x", "arg": {"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "buf0"}}]}},
        {"name": "absent", "arg": {"as_optional_tensors": [{"as_none": true}]}}, {"name": "none", "arg": {"as_none": true}},
        {"name": "one", "arg": {"as_int": 20}}, {"name": "many", "arg": {"as_ints": [1, 2]}},
        {"name": "symbol", "arg": {"as_sym_int": {"as_name": "s77"}}},
        {"name": "symbols", "arg": {"as_sym_ints": [{"as_name": "s77"}, {"as_int": 3}]}},
        {"name": "empty", "arg": {"as_ints": []}}, {"name": "mode", "arg": {"as_string": "sum"}},
        {"name": "flag", "arg": {"as_bool": true}}],
        "outputs": [{"as_tensor": {"name": "buf2"}}]}}]})");
    std::vector<std::string> found;
    for (const Argument& argument : site(info, "mylib::my_op").arguments) {
        if (!argument.tensors.empty()) continue;
        found.push_back(argument.parameter + " " + std::to_string(static_cast<int>(argument.kind)) + " " +
                        std::to_string(argument.integers) + " " + argument.value);
    }
    CHECK(site(info, "mylib::my_op").arguments[0].value == "None, tensor");
    const auto number = [](ArgumentKind kind) { return " " + std::to_string(static_cast<int>(kind)) + " "; };
    const std::string scalar = number(ArgumentKind::scalar);
    const std::string list = number(ArgumentKind::scalar_list);
    const std::string absent = number(ArgumentKind::absent);
    CHECK(found == std::vector<std::string>{
                       "absent" + list + "0 None", "none" + absent + "0 ", "one" + scalar + "1 20",
                       "many" + list + "2 1, 2", "symbol" + scalar + "1 ", "symbols" + list + "2 ",
                       "empty" + absent + "0 ", "mode" + number(ArgumentKind::string) + "0 sum",
                       "flag" + scalar + "0 true"});
}

TEST_CASE("Branches and loops are kept, with the calls inside them") {
    const WrapperInfo info = read_wrapper(test_data("control_flow.released.cpp.txt"));
    std::string flow;
    for (const FlowStep& step : info.run.flow) {
        flow += "c{|}L)br"[static_cast<std::size_t>(step.kind)];
    }
    CHECK(flow == "c{cc|ccc}cLcbc)");
    const CallSite& sine = site(info, "cpp_fused_gt_sin_1");
    CHECK(info.run.regions[sine.region].kind == Region::Kind::branch);
    CHECK(sine.arguments[0].label() == "true_graph_0_arg0_1");
    CHECK(info.run.regions[site(info, "cpp_fused_cos_gt_2").region].kind == Region::Kind::other_branch);
    CHECK(info.run.regions[site(info, "cpp_fused_gt_5").region].kind == Region::Kind::loop);
    CHECK(site(info, "cpp_fused_gt_sum_0").region == kNone);
    std::map<std::string, std::string> shared;
    for (const SharedMemory& memory : info.run.shared_memory) {
        shared.emplace(memory.name, memory.of);
    }
    CHECK(shared.at("true_graph_0_arg0_1") == "arg1_1");
    CHECK(shared.at("buf3") == "true_graph_0_buf1");
    CHECK(shared.at("buf7") == "buf3");
}

TEST_CASE("Triton kernels are read with their source, signature and launch arguments") {
    const WrapperInfo info = read_wrapper(kCudaWrapper);
    REQUIRE(info.triton_kernels.size() == 2);
    const TritonKernelInfo& add = info.triton_kernels[0];
    CHECK(add.name == "triton_red_fused_add_0");
    CHECK(add.cubin == "c2ee");
    CHECK(add.function == "triton_red_fused_add_0");
    CHECK(add.source.find("tl.store(out_ptr1 + xindex, 0)") != std::string::npos);
    CHECK_FALSE(add.is_user_defined);
    CHECK(add.mutated == std::vector<std::string>{"in_out_ptr0", "in_ptr0"});
    REQUIRE(add.parameters.size() == 5);
    CHECK(add.parameters[0].type == "*fp16");
    CHECK(add.parameters[0].role == Role::updates);
    CHECK(add.parameters[1].role == Role::updates);  // written, despite its name
    CHECK(add.parameters[2].role == Role::writes);
    CHECK(add.parameters[3].type == "i64");
    CHECK(add.launched == std::vector<std::uint32_t>{0, 1, 2, 4, kNone});
    CHECK(info.triton_kernels[1].is_user_defined);
    CHECK(info.triton_kernels[1].cubin.empty());
    CHECK(info.triton_kernels[1].function == "add_kernel");
}

TEST_CASE("A CUDA wrapper is read: kernels, views, copies") {
    const WrapperInfo info = read_wrapper(
        kCudaWrapper, {},
        R"({"triton_red_fused_add_0:7": {"stack_traces": ["model.py:3"], "pre_grad_nodes": ["x"]}})");
    REQUIRE(info.is_complete);
    CHECK(info.inputs == std::vector<std::string>{"arg5_1", "arg6_1"});
    CHECK(info.constants[0].from_folded);
    CHECK(info.constants[0].dtype == "float16");

    const CallSite& add = site(info, "triton_red_fused_add_0");
    CHECK(add.kind == SiteKind::triton);
    CHECK(add.function == "call_triton_red_fused_add_0");
    CHECK(add.kernel == 0);
    REQUIRE(add.arguments.size() == 5);
    CHECK(add.arguments[0].label() == "arg5_1");
    CHECK(add.arguments[0].role == Role::updates);
    CHECK(add.arguments[1].label() == "l1_bias");
    CHECK(add.arguments[2].role == Role::writes);
    CHECK(add.arguments[2].type == "*fp32");
    CHECK(add.arguments[4].label() == "512L*s77");
    CHECK(add.arguments[4].kind == ArgumentKind::scalar);
    CHECK(add.source_nodes == std::vector<std::string>{"linear", "add_1"});
    REQUIRE(add.provenance == "triton_red_fused_add_0:7");
    CHECK(info.origins.at(add.provenance).stack_traces == std::vector<std::string>{"model.py:3"});

    const CallSite& user = site(info, "add_kernel_0");
    CHECK(user.kind == SiteKind::user_triton);
    CHECK(user.source_nodes.empty());
    CHECK(user.arguments[0].role == Role::unknown);
    CHECK(user.arguments[1].label() == "arg6_1");
    CHECK(user.arguments[1].tensors[0].view->offset == "8L");
    CHECK(user.arguments[2].value == "0.5");

    const CallSite& put = site(info, "aoti_torch_cuda_index_put_");
    CHECK(put.arguments[0].label() == "buf1");  // through tmp_buf1_2
    CHECK(put.arguments[0].tensors[0].view->dtype == "int32");
    CHECK(put.arguments[0].role == Role::updates);
    CHECK(put.arguments[1].kind == ArgumentKind::tensor_list);
    CHECK(put.arguments[1].tensors == std::vector<TensorName>{plain(""), plain("arg6_1")});
    CHECK(site(info, "aoti_torch_cuda_bmm_out_v2").arguments[0].label() == "buf1_as_strided");
    CHECK(site(info, "aoti_torch_cuda_bmm_out_v2").arguments[0].role == Role::writes);
    const CallSite& library = site(info, "cuda_fused_0");
    CHECK(library.kind == SiteKind::device_kernel);
    CHECK(library.arguments[1].label() == "buf1");
    CHECK(library.arguments[2].kind == ArgumentKind::absent);
    CHECK(site(info, "aoti_torch_copy_").kind == SiteKind::copy);
    CHECK(site(info, "aoti_torch_copy_").arguments[0].role == Role::writes);
}

TEST_CASE("Pools, outputs and shared memory of a CUDA wrapper are read") {
    const WrapperInfo info = read_wrapper(kCudaWrapper);
    REQUIRE(info.is_complete);
    REQUIRE(info.run.allocations.size() == 2);
    CHECK(info.run.allocations[1].name == "buf0");
    CHECK(info.run.allocations[1].pool == "pool1");
    CHECK(info.run.allocations[1].offset == "1024");
    CHECK(info.run.allocations[1].sizes == "{s77, 512L}");
    REQUIRE(info.run.outputs.size() == 3);
    CHECK(info.run.outputs[0].name == "buf1");
    CHECK(info.run.outputs[1].name == "l1_bias");
    CHECK(info.run.outputs[2] == info.run.outputs[0]);
    const auto reuse = std::find_if(info.run.shared_memory.begin(), info.run.shared_memory.end(),
                                    [](const SharedMemory& memory) { return memory.name == "buf1"; });
    REQUIRE(reuse != info.run.shared_memory.end());
    CHECK(reuse->of == "buf0");
    CHECK(reuse->how == SharedMemory::How::view);
}

TEST_CASE("Constant folding is read separately from the run, and a call without its helper still counts") {
    const WrapperInfo info = read_wrapper(kCudaWrapper);
    REQUIRE(info.folding.sites.size() == 1);
    const CallSite& folding = info.folding.sites[0];
    CHECK(folding.name == "triton_poi_fused_unknown_9");
    CHECK(folding.kernel == kNone);
    REQUIRE(folding.arguments.size() == 3);
    CHECK(folding.arguments[1].label() == "buf0");
    CHECK(folding.arguments[1].role == Role::unknown);
    CHECK(info.folding.outputs[0].name == "buf0");
}

TEST_CASE("Line numbers are those of the source, and the class name of the model does not matter") {
    const WrapperInfo info = read_wrapper(
        "// one\nvoid Other::run_impl(int a) {\n  /* three\n four */\n  aoti_torch_cpu_relu(buf0, "
        "&buf1_handle);\n}\n"
        "void f() { model->run_impl(1); }\n");
    REQUIRE(info.run.sites.size() == 1);
    CHECK(info.run.sites[0].line == 5);
    CHECK(info.run.sites[0].arguments[1].label() == "buf1");
}

TEST_CASE("The dispatcher's op is the call's name") {
    const WrapperInfo info = read_body(
        "{ std::array<StableIValue, 2> dispatch_vars{torch::stable::detail::from(a), b};\n"
        "AOTI_TORCH_ERROR_CODE_CHECK(\n aoti_torch_call_dispatcher(\"my::op\", \"out\", "
        "dispatch_vars.data())\n);\n"
        "buf3 = torch::stable::detail::to<AtenTensorHandle>(dispatch_vars[0]); }\n");
    REQUIRE(info.run.sites.size() == 1);
    CHECK(info.run.sites[0].kind == SiteKind::dispatcher);
    CHECK(info.run.sites[0].name == "my::op.out");
    CHECK(info.run.sites[0].key == dispatcher_key("my::op", "out"));
}

TEST_CASE("Calls in strings, comments and raw strings do not count") {
    CHECK(read_body("auto s = \"aoti_torch_cpu_relu(buf0);\"; // aoti_torch_cpu_relu(buf0);\n")
              .run.sites.empty());
    CHECK(read_body("/* aoti_torch_cpu_relu(buf0); */ auto s = R\"(x; aoti_torch_cpu_relu(a);)\";")
              .run.sites.empty());
}

TEST_CASE("Chained conditions stay one branch with several arms") {
    const WrapperInfo info = read_body(
        "if (a) { cpp_a(); } else if (b) { cpp_b(); } else { cpp_c(); }\n"
        "if (d) { throw std::runtime_error(\"x\"); }\nfor (int i = 0; i < n; ++i) { if (!x) continue; "
        "cpp_d(); }\n"
        "while (1) { if (!x) break; }\n");
    std::string flow;
    for (const FlowStep& step : info.run.flow) {
        flow += "c{|}L)br"[static_cast<std::size_t>(step.kind)];
    }
    CHECK(flow == "{c|c|c}Lrc)");
    CHECK(info.run.flow[2].value == 1);
    CHECK(info.run.flow[4].value == 0);
}

TEST_CASE("Prototypes may come from the kernel sources alone") {
    WrapperTexts texts;
    texts.wrapper = "void M::run_impl(int a) { cpp_fused_0((float*)(buf0.data_ptr()), s77); }";
    texts.kernel_sources = {
        "#include \"x.h\"\nextern \"C\"  void  cpp_fused_0(float* out_ptr0,\n const int64_t ks0)\n{ }"};
    const WrapperInfo info = read_call_sites(texts);
    REQUIRE(info.run.sites.size() == 1);
    CHECK(info.run.sites[0].arguments[0].role == Role::writes);
    CHECK(info.run.sites[0].arguments[1].parameter == "ks0");
    texts.kernel_sources.clear();
    CHECK(read_call_sites(texts).run.sites[0].arguments[0].role == Role::unknown);
}

TEST_CASE("An empty text or another kind of text gives no call sites") {
    for (const char* const text : {"", "}", "{{{{", "void run_impl(", "import torch\nprint('x')\n"}) {
        const WrapperInfo info = read_wrapper(text);
        CHECK(info.run.sites.empty());
        CHECK(info.is_complete);
    }
    CHECK(read_call_sites_of("/nonexistent/x.wrapper.so").run.sites.empty());
}

}  // namespace

TEST_CASE("A kernel context guard gives the Python stack to the call that it names, and to no other") {
    const std::string call = "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(";
    const std::string guard = R"x(    KernelContextGuard _ctx("NAME", R"(
File "m.py", line 6, in forward
    y = self.l(x); z = "}"

)");
)x";
    for (const std::string name : {"aoti_torch_cpu_addmm_out", "aoti_torch_cpu_mm_out"}) {
        std::string text = test_data("linear_softmax.released.cpp.txt");
        const std::size_t at = text.find(call);
        REQUIRE(at != std::string::npos);
        text.insert(at, std::string(guard).replace(guard.find("NAME"), 4, name));
        const WrapperInfo info = read_wrapper(text);
        REQUIRE(info.run.sites.size() == 4);
        const std::vector<std::string> stack = {"File \"m.py\", line 6, in forward",
                                                "    y = self.l(x); z = \"}\""};
        const bool is_named = name == "aoti_torch_cpu_addmm_out";
        CHECK(info.run.sites[0].python_stack == (is_named ? stack : std::vector<std::string>()));
        CHECK(info.run.sites[1].python_stack.empty());
    }
}

}  // namespace aoti_dbg::call_sites_test
