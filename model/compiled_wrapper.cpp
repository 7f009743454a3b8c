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
        if (json.at("is_view").get<bool>()) tensor.view.emplace();
        argument.tensors.push_back(std::move(tensor));
    } else {
        argument.kind = ArgumentKind::scalar;
    }
    return argument;
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
    site.source_nodes = json.at("nodes").get<std::vector<std::string>>();
    site.original_aten = json.at("aten").get<std::vector<std::string>>();
    for (const Json& argument : json.at("arguments"))
        site.arguments.push_back(read_argument(argument));
    return site;
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
    for (const Json& site : json.at("sites")) {
        run.flow.push_back({FlowStep::Kind::call, static_cast<std::uint32_t>(run.sites.size())});
        run.sites.push_back(read_site(site));
    }
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
