#include "model/compiled_wrapper.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace aoti_dbg {
namespace {

using Json = nlohmann::json;

Argument read_argument(const Json& json) {
    Argument argument;
    const auto label = json.at("label").get<std::string>();
    argument.parameter = json.at("parameter").get<std::string>();
    argument.role = role_of(json.at("role").get<std::string>());
    argument.text = label;
    if (json.at("is_tensor").get<bool>()) {
        argument.kind = ArgumentKind::tensor;
        TensorName tensor{label, {}};
        if (const Json& view = json.at("view"); !view.empty())
            tensor.view = WrittenView{view.at(0), view.at(1), view.at(2), {}};
        argument.tensors.push_back(std::move(tensor));
    } else {
        argument.kind = ArgumentKind::scalar;
        argument.value = json.at("value").get<std::string>();
    }
    return argument;
}

/// What a launch passes of a Triton kernel: all but the constants that were compiled in.
TritonKernelInfo read_kernel(const Json& json) {
    TritonKernelInfo kernel;
    kernel.name = json.at("name").get<std::string>();
    for (const Json& parameter : json.at("parameters")) {
        TritonParameter one;
        one.name = parameter.at(0).get<std::string>();
        one.type = parameter.at(1).get<std::string>();
        if (one.type != "constexpr")
            kernel.launched.push_back(static_cast<std::uint32_t>(kernel.parameters.size()));
        kernel.parameters.push_back(std::move(one));
    }
    kernel.has_more_scratch = true;
    return kernel;
}

void read_memory(const Json& json, RunBody& run) {
    for (const Json& one : json.at("allocations")) {
        Allocation made;
        made.name = one.at("name").get<std::string>();
        made.dtype = one.at("dtype").get<std::string>();
        made.sizes = one.at("sizes").get<std::string>();
        made.strides = one.at("strides").get<std::string>();
        made.before = one.at("before").get<std::uint32_t>();
        run.allocations.push_back(std::move(made));
    }
    for (const Json& one : json.at("shared")) {
        const auto how = one.at("is_view").get<bool>() ? SharedMemory::How::view : SharedMemory::How::moved;
        run.shared_memory.push_back({one.at("name"), one.at("of"), how, one.at("from")});
    }
}

/// Connects a call with the kernel that it launches.
void find_kernel(const std::vector<TritonKernelInfo>& kernels, CallSite& site) {
    for (std::uint32_t i = 0; i < kernels.size(); ++i)
        if (site.kind == SiteKind::triton && kernels[i].name == site.name) site.kernel = i;
}

CallSite read_site(const Json& json) {
    CallSite site;
    const auto kind = json.at("kind").get<std::string>();
    site.kind = kind == "triton" ? SiteKind::triton : kind == "cpp" ? SiteKind::cpp : SiteKind::op;
    site.name = json.at("name").get<std::string>();
    site.function = json.at("symbol").get<std::string>();
    if (site.function.empty()) site.function = site.name;
    site.key = site.name;
    site.line = json.at("line").get<std::uint32_t>();
    site.may_repeat = json.value("may_repeat", false);
    site.statement = json.value("statement", std::string());
    site.provenance = json.value("handle", std::string());
    site.source_nodes = json.at("nodes").get<std::vector<std::string>>();
    site.original_aten = json.at("aten").get<std::vector<std::string>>();
    for (const Json& argument : json.at("arguments"))
        site.arguments.push_back(read_argument(argument));
    return site;
}

ExpectedTensor read_expected(const Json& json) {
    ExpectedTensor expected;
    expected.name = json.at("label").get<std::string>();
    expected.dtype = json.at("dtype").get<std::string>();
    expected.alignment = json.at("alignment").get<std::uint32_t>();
    expected.line = json.at("line").get<std::uint32_t>();
    if (json.contains("site")) expected.site = json.at("site").get<std::uint32_t>();
    expected.op = json.at("op").get<std::string>();
    return expected;
}

CompiledFunction read_function(const Json& json) {
    CompiledFunction function;
    const auto read = [&json](const char* name) { return json.value(name, std::string()); };
    function.graph = read("graph");
    function.direction = read("direction");
    function.compile_id = read("compile");
    function.function = read("function");
    function.place = read("place");
    function.recompiled = read("recompiled");
    return function;
}

CompiledWrapper read(const Json& json) {
    CompiledWrapper wrapper;
    wrapper.path = json.at("path").get<std::string>();
    wrapper.is_on_cuda = json.at("is_on_cuda").get<bool>();
    wrapper.function = read_function(json.at("origin"));
    wrapper.info.inputs = json.at("inputs").get<std::vector<std::string>>();
    RunBody& run = wrapper.info.run;
    for (const Json& output : json.at("outputs"))
        run.outputs.push_back({output.get<std::string>(), {}});
    for (const Json& kernel : json.at("kernels"))
        wrapper.info.triton_kernels.push_back(read_kernel(kernel));
    for (const Json& site : json.at("sites")) {
        run.flow.push_back({FlowStep::Kind::call, static_cast<std::uint32_t>(run.sites.size())});
        run.sites.push_back(read_site(site));
        find_kernel(wrapper.info.triton_kernels, run.sites.back());
    }
    const Json known = json.value("stacks", Json::object());
    for (const auto& [handle, stacks] : known.items())
        wrapper.info.origins[handle].stack_traces = stacks.get<std::vector<std::string>>();
    read_memory(json, run);
    for (const Json& expected : json.at("expected"))
        wrapper.info.expected.push_back(read_expected(expected));
    return wrapper;
}

}  // namespace

std::optional<CompiledWrapper> read_compiled_wrapper(std::string_view json) {
    try {
        return read(Json::parse(json));
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

}  // namespace aoti_dbg
