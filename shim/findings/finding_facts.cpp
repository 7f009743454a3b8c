#include "shim/findings/finding_facts.hpp"

#include "base/compiled_function.hpp"

namespace aoti_dbg {

bool has_statistics(const MeasuredArgument& argument) {
    return argument.tensor != nullptr &&
           (argument.measured == Measured::now || argument.measured == Measured::earlier);
}

std::string why_unmeasured(const MeasuredArgument& argument) {
    if (argument.tensor == nullptr || has_statistics(argument)) return {};
    if (!argument.tensor->unmeasured.empty()) return argument.tensor->unmeasured;
    if (argument.measured == Measured::not_yet) return "the GPU did not reach this call";
    const std::string why = argument.why_not == nullptr ? "" : argument.why_not;
    return why.empty() ? "it was not requested" : why;
}

FindingTensor finding_tensor(const MeasuredArgument& argument) {
    FindingTensor result;
    if (argument.facts != nullptr) {
        result.label = argument.facts->label;
        result.original_fqn = argument.facts->original_fqn;
        result.parameter = argument.facts->parameter;
        result.role = argument.facts->role;
    }
    if (argument.tensor == nullptr) {
        result.scalar = argument.scalar;
        return result;
    }
    result.dtype = argument.tensor->dtype;
    result.device = argument.tensor->device;
    result.sizes_known = argument.tensor->sizes_known;
    result.sizes = argument.tensor->sizes;
    result.unmeasured = why_unmeasured(argument);
    if (!result.unmeasured.empty()) return result;
    result.statistics = argument.statistics;
    result.is_earlier = argument.measured == Measured::earlier;
    if (result.is_earlier) result.measured_at = argument.measured_at;
    return result;
}

std::uint64_t reach_of(const MeasuredArgument& argument) {
    if (argument.tensor == nullptr) return 0;
    const TensorFacts& tensor = *argument.tensor;
    const std::uint64_t element = element_size(tensor.measured_dtype);
    if (!tensor.sizes_known || tensor.sizes.size() != tensor.strides.size()) return element;
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
        if (tensor.sizes[i] < 1 || tensor.strides[i] < 0) return element;
        last +=
            static_cast<std::uint64_t>(tensor.sizes[i] - 1) * static_cast<std::uint64_t>(tensor.strides[i]);
    }
    return (last + 1) * element;
}

const MeasuredArgument* writer_of(const MeasuredCall& call, const MeasuredArgument& argument) {
    const std::uint64_t end = argument.address + reach_of(argument);
    for (const MeasuredArgument& other : call.arguments) {
        const bool is_reader = other.facts != nullptr && other.facts->role == Role::reads;
        if (&other == &argument || other.tensor == nullptr || is_reader) continue;
        const bool overlaps = other.address < end && argument.address < other.address + reach_of(other);
        if (overlaps) return &other;
    }
    return nullptr;
}

void add_site(const SiteFacts& site, Finding& finding) {
    finding.kernel = site.kernel;
    finding.symbol = site.symbol;
    finding.site = site.site;
    finding.line = site.line;
    finding.source = site.source;
    finding.source_nodes = site.source_nodes;
    finding.original_aten = site.original_aten;
    finding.python_stack = site.python_stack;
    finding.python_lines = site.python_lines;
}

Finding finding_of(const MeasuredCall& call, Finding::Kind kind, const MeasuredArgument& argument,
                   Wrong wrong) {
    Finding finding;
    finding.kind = kind;
    if (kind == Finding::Kind::input_nan) finding.kernel = kModelInputs;
    if (kind == Finding::Kind::weight_nan) finding.kernel = "aoti_model_weights";
    if (call.site != nullptr && finding.kernel.empty()) add_site(*call.site, finding);
    finding.sequence = call.sequence;
    finding.time_ns = call.time_ns;
    finding.thread = call.thread;
    finding.stream = call.stream;
    finding.model = call.model;
    const CompiledRun compiled = compiled_run_of(call.run_name);
    finding.model_name = compiled.title;
    if (finding.python_stack.empty() && !compiled.caller.empty())
        finding.python_stack.emplace_back(compiled.caller);
    finding.run = call.run;
    finding.call = call.call;
    finding.tensor = finding_tensor(argument);
    WrongPlaces places = places_of_wrong(argument, wrong);
    finding.elements = count_wrong(argument.statistics, wrong);
    finding.first = std::move(places.first);
    finding.pattern = std::move(places.text);
    return finding;
}

}  // namespace aoti_dbg
