// See call_facts.hpp.
#include "triage/gather/call_facts.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/compiled_function.hpp"
#include "triage/gather/argument_details.hpp"
#include "triage/gather/kept_source.hpp"
#include "triage/gather/memory_facts.hpp"

namespace aoti_dbg {
namespace {

std::string launch_parameters(const Evidence& evidence) {
    return evidence.device && evidence.device->accessed ? evidence.device->accessed->parameters
                                                        : std::string();
}

std::vector<TensorOfRun> tensors_of_run_of(const RecordedProcess& process, const CrashCall& call) {
    std::vector<std::string> damage;  // reported with the memory at a fault's address
    const std::optional<TensorMap> map = tensor_map_of(process, damage);
    return map ? tensors_of_run(*map, call.run, call.model, call.sequence) : std::vector<TensorOfRun>();
}

/// True if the last call is a Triton kernel's own. A Python wrapper calls it like an op, and the launch is
/// inside.
bool is_triton(const FoundSource& source) {
    return source.info.run.sites[source.sites.back()].kind == SiteKind::triton;
}

}  // namespace

KeptPackages packages_of(const RecordedProcess& process) {
    return KeptPackages(process.folder, {process.pid, process.start_unix_ns});
}

void take_measured(std::vector<CrashArgument> measured, std::vector<CrashArgument>& arguments) {
    for (CrashArgument& argument : arguments)
        argument.is_shown = false;
    for (CrashArgument& argument : measured) {
        const auto known = std::find_if(arguments.begin(), arguments.end(), [&](const CrashArgument& other) {
            return other.label == argument.label;
        });
        if (known == arguments.end()) continue;
        argument.written_by = known->written_by;
        argument.begin = known->begin;
        argument.bytes = known->bytes;
        argument.is_from_tensor_map = known->is_from_tensor_map;
        argument.parameter = known->parameter;
        if (argument.value.empty()) argument.value = known->value;
        arguments.erase(known);
    }
    // The range of an argument that was not measured may still explain a fault: its pointer may be wrong.
    arguments.insert(arguments.begin(), std::make_move_iterator(measured.begin()),
                     std::make_move_iterator(measured.end()));
}

void add_model_details(const RecordedEvents& events, CrashCall& call) {
    if (!events.model_name.empty()) call.model_name = events.model_name;
    if (call.path.empty()) call.path = events.model_path;
}

namespace {

/// Functions that torch.compile compiled have no package. The ring says which one it is, and who called it.
void add_compiled_run(const std::string& run_name, CrashCall& call) {
    const CompiledRun run = compiled_run_of(run_name);
    call.model_name = run.title;
    if (call.python_stack.empty() && !run.caller.empty()) call.python_stack.emplace_back(run.caller);
}

}  // namespace

void add_call_facts(const RecordedProcess& process, const RecordedCalls& calls, const ring::Call& about,
                    CrashCall& call, Evidence& evidence) {
    const KeptPackages packages = packages_of(process);
    const std::optional<ring::Call> op = calls.around(about);
    if (op) {
        CrashCall around = calls.details(*op);
        around.is_likely = call.is_likely;
        set_around(around, call);
        if (call.model == ~0U) call.model = around.model;
    }
    const ring::Call& own = op ? *op : about;
    call.line = own.thread->line_of(*own.record);
    const std::vector<std::string> names = calls.names_up_to(own);
    const std::optional<FoundSource> source = find_source(packages, names, call, evidence.notes);
    const std::vector<TensorOfRun> tensors =
        source ? tensors_of_run_of(process, call) : std::vector<TensorOfRun>();
    std::optional<ArgumentDetails> arguments;
    const bool is_own = !op || (source && is_triton(*source));
    if (source)
        arguments.emplace(*source, names, is_own ? launch_parameters(evidence) : std::string(), tensors);
    if (arguments) evidence.arguments = arguments->arguments();
    if (arguments) arguments->add_places(evidence.arguments);
    if (about.record->run != ring::kNoRun) add_compiled_run(calls.run_name_of(about), call);
    if (!evidence.device) return;
    // A launch that is only likely may belong to another model.
    const bool is_certain = evidence.faulted && !evidence.faulted->is_likely;
    find_kernel_line_of(packages.of(is_certain ? evidence.faulted->model : ~0U), *evidence.device,
                        evidence.notes);
}

}  // namespace aoti_dbg
