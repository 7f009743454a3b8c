#include "cli/inspect/inspected_model.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/words.hpp"
#include "cli/inspect/call_spec.hpp"
#include "cli/inspect/model_kernels.hpp"
#include "cli/inspect/model_tensors.hpp"
#include "cli/inspect/visible.hpp"
#include "model/call_sites.hpp"
#include "model/kernel_source.hpp"
#include "model/package_files.hpp"

namespace aoti_dbg::cli {
namespace {

/// Reads {"AOTI_DEVICE_KEY": "cuda", "AOTI_COMPUTE_CAPABILITY": "90"}. Ignores anything else.
std::map<std::string, std::string, std::less<>> read_metadata(std::string_view text) {
    std::map<std::string, std::string, std::less<>> values;
    constexpr std::size_t kLargestMetadata = std::size_t{1} << 20U;
    if (text.size() > kLargestMetadata) return values;
    const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_object()) return values;
    for (const auto& [key, value] : document.items())
        if (value.is_string()) values[key] = value.get<std::string>();
    return values;
}

/// Finds the architectures in Triton's description of the device: DeviceProperties(type='cuda', ..., cc=90,
/// ...
void add_described(std::string_view source, std::set<std::string>& architectures) {
    constexpr std::string_view kDevice = "DeviceProperties(type='cuda'";
    constexpr std::size_t kLongest = 512;
    for (std::size_t at = source.find(kDevice); at != std::string_view::npos;
         at = source.find(kDevice, at + 1)) {
        std::string_view device = source.substr(at, kLongest);
        device = device.substr(0, device.find(')'));
        const std::size_t found = device.find(" cc=");
        if (found == std::string_view::npos) continue;
        std::string_view number = device.substr(found + 4);
        number = number.substr(0, number.find_first_not_of("0123456789"));
        if (!number.empty()) architectures.insert("sm_" + std::string(number));
    }
}

void set_platform(const ModelFiles& files, InspectedModel& facts) {
    const auto metadata = read_metadata(text_of(files.metadata));
    const auto value = [&metadata](std::string_view key) {
        const auto found = metadata.find(key);
        return found == metadata.end() ? std::string() : found->second;
    };
    facts.device = value("AOTI_DEVICE_KEY");
    facts.cpu_isa = value("AOTI_CPU_ISA");
    facts.platform = value("AOTI_MACHINE");
    if (!facts.platform.empty() && !value("AOTI_PLATFORM").empty())
        facts.platform += " " + value("AOTI_PLATFORM");
    std::set<std::string> architectures;
    if (const std::string capability = value("AOTI_COMPUTE_CAPABILITY"); !capability.empty())
        architectures.insert((capability[0] >= '0' && capability[0] <= '9' ? "sm_" : "") + capability);
    add_described(text_of(files.wrapper), architectures);
    for (const PackagedFile* const cubin : files.cubins)
        if (const std::string one = architecture_of(cubin->bytes); !one.empty()) architectures.insert(one);
    if (facts.library)
        architectures.insert(facts.library->architectures.begin(), facts.library->architectures.end());
    facts.architectures.assign(architectures.begin(), architectures.end());
    if (!facts.device.empty()) return;
    const std::string_view source = text_of(files.wrapper);
    const bool launches = facts.library && (facts.library->imports.count("cuLaunchKernel") != 0 ||
                                            facts.library->imports.count("cuLaunchKernelEx") != 0);
    const bool is_cuda = launches || source.find("aoti_include/cuda.h") != std::string_view::npos ||
                         source.find("device_internal/cuda.h") != std::string_view::npos ||
                         source.find("loadKernel(") != std::string_view::npos;
    const bool is_cpu = source.find("aoti_include/cpu.h") != std::string_view::npos ||
                        source.find("device_internal/cpu.h") != std::string_view::npos ||
                        (facts.library && !facts.library->cpp_kernels.empty());
    facts.device = is_cuda ? "cuda" : is_cpu ? "cpu" : "";
}

void set_places(std::string_view source, InspectedModel& facts) {
    const std::vector<std::string> inputs = input_places(source);
    for (std::size_t i = 0; inputs.size() == facts.inputs.size() && i < inputs.size(); ++i)
        facts.inputs[i].place = inputs[i];
    const std::vector<std::string> outputs = output_places(source);
    for (std::size_t i = 0; outputs.size() == facts.outputs.size() && i < outputs.size(); ++i)
        facts.outputs[i].tensor.place = outputs[i];
}

/// Names the outputs that a run leaves empty.
void set_absent_outputs(std::string_view source, InspectedModel& facts) {
    const bool is_whole = source.find("} // AOTInductorModel::run_impl") != std::string_view::npos;
    for (std::size_t i = 0; i < facts.outputs.size(); ++i)
        if (is_whole && facts.is_complete && facts.outputs[i].value.empty() &&
            source.find("output_handles[" + std::to_string(i) + "]") == std::string_view::npos)
            facts.outputs[i].value = kNoOutput;
}

/// Returns how many lines call the function, or contain the text.
std::size_t count_of(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
        ++count;
    return count;
}

void set_printer(std::string_view source, InspectedModel& facts) {
    const auto has = [&](const char* function) {
        return (facts.library && facts.library->imports.count(function) != 0) ||
               source.find(std::string(function) + "(") != std::string_view::npos;
    };
    const bool names = source.find("\"[ before_launch: ") != std::string_view::npos ||
                       (facts.library && facts.library->prints_names);
    if (has("aoti_torch_print_tensor_handle"))
        facts.printer = "values";
    else if (has("aoti_torch_save_tensor_handle"))
        facts.printer = "files";
    else if (names)
        facts.printer = "names";
}

void set_checks(std::string_view source, const WrapperInfo& info, InspectedModel& facts) {
    if (!info.input_guards.empty())
        facts.checks.emplace_back("input checks, off unless AOTI_RUNTIME_CHECK_INPUTS=1");
    constexpr std::string_view kNanCheck = "aoti_torch_check_inf_and_nan";
    const std::size_t nan_checks = count_of(source, std::string(kNanCheck) + "(");
    if (nan_checks != 0)
        facts.checks.push_back("a check for NaN and Inf after " + counted(nan_checks, "kernel"));
    else if (facts.library && facts.library->imports.count(kNanCheck) != 0)
        facts.checks.emplace_back("checks for NaN and Inf");
    std::size_t assertions = 0;
    for (const KernelAssertions& kernel : find_assertions(source))
        assertions += kernel.lines.size();
    if (assertions != 0) facts.checks.push_back(counted(assertions, "assertion") + " in Triton kernels");
    if (source.find("RAIIAtenRecordFunctionHandle") != std::string_view::npos)
        facts.checks.emplace_back("ranges for PyTorch's profiler");
}

}  // namespace

InspectedModel inspect_model(const ModelFiles& files) {
    InspectedModel facts;
    facts.name = files.name;
    facts.folder = files.folder;
    facts.has_wrapper = files.wrapper != nullptr;
    facts.kernel_sources = files.kernel_sources.size();
    facts.cubins = files.cubins.size();
    if (files.library != nullptr) facts.library = read_library(files.library->bytes);
    set_platform(files, facts);
    const WrapperTexts texts = texts_of(files);
    const WrapperInfo info = read_call_sites(texts);
    facts.is_complete = info.is_complete;
    facts.has_inputs = facts.has_wrapper && !info.run.sites.empty();
    facts.has_inputs = facts.has_inputs || !info.inputs.empty();
    facts.has_input_guards = !info.input_guards.empty();
    if (!info.has_weights) facts.weights = files.weights == nullptr ? "program" : "package";
    facts.inputs = inputs_of(info);
    facts.outputs = outputs_of(info);
    set_places(texts.wrapper, facts);
    set_absent_outputs(texts.wrapper, facts);
    facts.constants = constants_of(info);
    facts.kernels = kernels_of(files, texts, info, facts);
    set_printer(texts.wrapper, facts);
    set_checks(texts.wrapper, info, facts);
    facts.visible = visible_of(facts, info);
    return facts;
}

}  // namespace aoti_dbg::cli
