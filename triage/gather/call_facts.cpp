// See call_facts.hpp.
#include "triage/gather/call_facts.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "triage/gather/argument_details.hpp"
#include "triage/gather/kept_source.hpp"
#include "triage/gather/memory_facts.hpp"

namespace aoti_dbg {
namespace {

/// True for the CUDA errors illegal address, misaligned address and invalid address space.
bool is_fault_of_memory(const DeviceFault& fault) {
    return fault.error == 700 || fault.error == 716 || fault.error == 717;
}

/// Marks the argument that the faulting line reads or writes.
void find_suspect(const KeptPackages& packages, CrashReport& report) {
    DeviceFault& fault = *report.device;
    // A launch that is only likely may belong to another model.
    const bool is_certain = report.faulted && !report.faulted->is_likely;
    find_kernel_line_of(packages.of(is_certain ? report.faulted->model : ~0U), fault, report.notes);
    if (fault.parameter.empty() || !is_fault_of_memory(fault)) return;
    for (CrashArgument& argument : report.arguments)
        argument.is_suspect = argument.parameter == fault.parameter || argument.label == fault.parameter;
}

std::string launch_parameters(const CrashReport& report) {
    return report.device && report.device->accessed ? report.device->accessed->parameters : std::string();
}

std::vector<TensorOfRun> tensors_of_run_of(const RecordedProcess& process, const CrashCall& call) {
    std::vector<std::string> damage;  // reported with the memory at a fault's address
    const std::optional<TensorMap> map = tensor_map_of(process, damage);
    return map ? tensors_of_run(*map, call.run, call.model, call.sequence) : std::vector<TensorOfRun>();
}

}  // namespace

KeptPackages packages_of(const RecordedProcess& process) {
    return KeptPackages(process.folder, {process.pid, process.start_unix_ns});
}

void place_fault(CrashReport& report) {
    DeviceFault& fault = *report.device;
    place_access(fault, report.arguments);
    if (!fault.accessed || !report.faulted) return;
    fault.accessed->is_likely |= report.faulted->is_likely && !fault.accessed->label.empty();
}

void take_measured(std::vector<CrashArgument> measured, std::vector<CrashArgument>& arguments) {
    for (CrashArgument& argument : measured) {
        const auto known = std::find_if(arguments.begin(), arguments.end(), [&](const CrashArgument& other) {
            return other.label == argument.label;
        });
        if (known == arguments.end()) continue;
        argument.written_by = known->written_by;
        argument.is_suspect |= known->is_suspect;
        argument.begin = known->begin;
        argument.bytes = known->bytes;
        argument.parameter = known->parameter;
        if (argument.value.empty()) argument.value = known->value;
    }
    arguments = std::move(measured);
}

void add_model_details(const RecordedEvents& events, CrashCall& call) {
    call.model_name = events.model_name;
    if (call.path.empty()) call.path = events.model_path;
}

void add_call_facts(const RecordedProcess& process, const RecordedCalls& calls, const ring::Call& about,
                    CrashCall& told, CrashReport& report) {
    const KeptPackages packages = packages_of(process);
    const std::optional<ring::Call> op = calls.around(about);
    if (op) {
        CrashCall around = calls.told(*op);
        around.is_likely = told.is_likely;
        told.inside = call_text(around);
        if (told.model == ~0U) told.model = around.model;
    }
    const std::vector<std::string> names = calls.names_up_to(op ? *op : about);
    const std::optional<FoundSource> source = find_source(packages, names, told, report.notes);
    const std::vector<TensorOfRun> tensors =
        source ? tensors_of_run_of(process, told) : std::vector<TensorOfRun>();
    std::optional<ArgumentDetails> arguments;
    if (source) arguments.emplace(*source, names, op ? std::string() : launch_parameters(report), tensors);
    if (arguments) report.arguments = arguments->arguments();
    if (report.device) {
        find_suspect(packages, report);
        place_fault(report);
    }
    // The map of tensors must not influence the judgment of a fault.
    if (arguments) arguments->add_places(report.arguments);
}

}  // namespace aoti_dbg
