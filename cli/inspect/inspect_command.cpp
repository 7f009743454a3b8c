#include "cli/inspect/inspect_command.hpp"

#include "cli/inspect/inspect.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kInspectExamples =
    "Examples:\n"
    "  aoti-dbg inspect model.pt2                            inputs and kernels\n"
    "  aoti-dbg inspect model.pt2 --kernel cpp_fused_relu_0  the source of a kernel\n"
    "  aoti-dbg inspect --format json model.pt2 | jq '.models[0].inputs'\n";

}  // namespace

void InspectCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Print the inputs, kernels and constants of a model.", kInspectExamples);
    add_value(own, {"model", "A package (.pt2), an unpacked one, a model's .so or its wrapper source."},
              model_);
    add_value(own, {"--kernel", "Print the source of this kernel instead.", "NAME"}, kernel_);
    add_switch(own, {"--all", "Print every input, constant and kernel. Default: 20 of each."}, all_);
    accepts(add_value(own, {"--format", "Output format: text or json.", "FORMAT"}, format_),
            {"text", "json"});
}

int InspectCommand::run() {
    if (model_.empty()) return refuse("expected a model: a .pt2 package, its folder or a .so.");
    if (format_ != "text" && format_ != "json")
        return refuse(wrong_value("--format", format_, "text or json", {"text", "json"}));
    const bool is_json = format_ == "json";
    if (is_json && !kernel_.empty())
        return refuse("--kernel prints the source unchanged. Leave out --format.");
    return inspect({model_, kernel_, is_json, all_});
}

}  // namespace aoti_dbg::cli
