#include <nlohmann/json.hpp>

#include "cli/inspect/inspect.hpp"
#include "cli/inspect/model_kernels.hpp"

namespace aoti_dbg::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json release_of(unsigned release) {
    return std::to_string(release / 100) + "." + std::to_string(release % 100);
}

Json json_of(const TensorSize& size) {
    Json json = {{"size", size.text}};
    if (size.least) json["least"] = *size.least;
    if (size.most) json["most"] = *size.most;
    return json;
}

Json json_of(const ModelTensor& tensor) {
    Json json = {{"name", tensor.name}};
    if (!tensor.dtype.empty()) json["dtype"] = tensor.dtype;
    if (!tensor.device.empty()) json["device"] = tensor.device;
    if (!tensor.place.empty()) json["place"] = tensor.place;
    if (!tensor.has_sizes) return json;
    json["sizes"] = Json::array();
    for (const TensorSize& size : tensor.sizes)
        json["sizes"].push_back(json_of(size));
    if (!tensor.strides.empty()) json["strides"] = tensor.strides;
    return json;
}

Json json_of(const ModelOutput& output) {
    Json json = json_of(output.tensor);
    if (!output.value.empty()) json["value"] = output.value;
    if (!output.writer.empty()) json["writer"] = output.writer;
    return json;
}

Json json_of(const ModelConstant& constant) {
    Json json = json_of(constant.tensor);
    if (!constant.fqn.empty()) json["fqn"] = constant.fqn;
    if (!constant.kind.empty()) json["kind"] = constant.kind;
    if (constant.bytes) json["bytes"] = *constant.bytes;
    return json;
}

Json json_of(const ModelKernel& kernel) {
    Json json = {{"name", kernel.name}, {"kind", word_of(kernel.kind)}};
    if (kernel.calls != 0) {
        json["calls"] = kernel.calls;
        json["conditional"] = kernel.conditional;
    }
    json["lines"] = kernel.lines;
    json["original_aten"] = kernel.aten;
    json["source_nodes"] = kernel.nodes;
    json["pre_grad_nodes"] = kernel.pre_grad_nodes;
    json["stack_traces"] = kernel.stack_traces;
    if (!kernel.architecture.empty()) json["architecture"] = kernel.architecture;
    if (!kernel.language.empty()) json["source"] = kernel.language;
    json["is_custom_op"] = is_custom_op(kernel);
    return json;
}

Json json_of(const ModelLibrary& library) {
    Json json = {{"bytes", library.bytes}};
    if (!library.problem.empty()) {
        json["problem"] = library.problem;
        return json;
    }
    json["has_lines"] = library.has_lines;
    if (!library.compiler.empty()) json["compiler"] = library.compiler;
    if (library.release == 0) return json;
    json["oldest_torch"] = release_of(library.release);
    if (library.next_release != 0) json["newest_torch"] = release_of(library.next_release - 1U);
    return json;
}

Json json_of(const Visible& one) {
    constexpr const char* kWords[] = {"yes", "partly", "no"};
    return {{"what", one.what}, {"state", kWords[static_cast<std::size_t>(one.state)]}, {"text", one.text}};
}

template <typename Item>
Json list_of(const std::vector<Item>& items) {
    Json list = Json::array();
    for (const Item& item : items)
        list.push_back(json_of(item));
    return list;
}

Json json_of(const InspectedModel& model) {
    Json json = {{"name", model.name}, {"folder", model.folder}};
    if (!model.device.empty()) json["device"] = model.device;
    json["architectures"] = model.architectures;
    if (!model.cpu_isa.empty()) json["cpu_isa"] = model.cpu_isa;
    if (!model.platform.empty()) json["platform"] = model.platform;
    if (model.library) json["library"] = json_of(*model.library);
    json["has_wrapper_source"] = model.has_wrapper;
    json["kernel_sources"] = model.kernel_sources;
    json["cubins"] = model.cubins;
    json["is_complete"] = model.is_complete;
    if (model.has_inputs) {
        json["inputs"] = list_of(model.inputs);
        json["outputs"] = list_of(model.outputs);
        json["weights"] = model.weights;
        json["constants"] = list_of(model.constants);
    }
    json["kernels"] = list_of(model.kernels);
    json["printer"] = model.printer.empty() ? "none" : model.printer;
    json["checks"] = model.checks;
    json["visible"] = list_of(model.visible);
    return json;
}

}  // namespace

std::string inspect_json(const std::vector<InspectedModel>& models, const std::string& path) {
    Json json = {{"format", "aoti-dbg-inspect"}, {"version", kVersion}, {"path", path}};
    json["models"] = Json::array();
    for (const InspectedModel& model : models)
        json["models"].push_back(json_of(model));
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace aoti_dbg::cli
