// See versions.hpp. The best source comes first. For packages, the order is: next to the program's
// own Python, as recorded in the models' packages, next to the models' libtorch. For devices it is what the
// process itself recorded.
#include "triage/gather/versions.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.hpp"
#include "triage/gather/kept_packages.hpp"
#include "triage/gather/machine_facts.hpp"
#include "triage/gather/python_packages.hpp"

namespace aoti_dbg {
namespace {

bool has(const NamedTexts& texts, std::string_view name) {
    return std::any_of(texts.begin(), texts.end(), [name](const auto& known) { return known.first == name; });
}

/// Returns programs that may be a Python: the started one, and that of the reported process.
std::vector<std::string> programs_of(const RecordedProcess* process, const EndedRun& run) {
    std::vector<std::string> programs = {run.command.front()};
    if (process != nullptr && !process->facts.command.empty())
        programs.push_back(process->facts.command.front());
    return programs;
}

NamedTexts python_versions(const RecordedProcess* process, const EndedRun& run) {
    const std::string& folder = process != nullptr ? process->folder : run.folder;
    NamedTexts texts = packages_of_python(programs_of(process, run));
    const std::vector<std::string> torch = KeptPackages(folder).torch_versions();
    if (!has(texts, "torch") && !torch.empty()) texts.emplace(texts.begin(), "torch", joined(torch, ", "));
    for (auto& [name, version] : packages_of_models(folder))
        if (!has(texts, name)) texts.emplace_back(std::move(name), std::move(version));
    return texts;
}

/// Returns "13.0" for 13000.
std::string cuda_version(std::uint32_t version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void add_devices(const std::vector<DeviceFacts>& devices, Evidence& evidence) {
    for (const DeviceFacts& device : devices) {
        const std::string name = device_name(device.number);
        std::string text = device.name;
        if (!device.uuid.empty()) text += (text.empty() ? "" : " ") + device.uuid;
        const bool is_of_fault =
            evidence.has_fault() && (devices.size() == 1 || evidence.device->device == name);
        if (is_of_fault) text += " (of the fault)";
        evidence.versions.emplace_back(name, text);
    }
}

/// If the process recorded its devices, it omits the machine's other devices.
void add_driver(const RecordedProcess* process, Evidence& evidence) {
    const std::vector<DeviceFacts> none;
    const std::vector<DeviceFacts>& devices = process != nullptr ? process->facts.devices : none;
    const std::string version = driver_version();
    if (!version.empty()) evidence.versions.emplace_back("driver", version);
    if (devices.empty()) {
        for (auto& gpu : machine_gpus())
            evidence.versions.push_back(std::move(gpu));
        return;
    }
    const std::uint32_t cuda = devices.front().driver_version;
    if (cuda != 0) evidence.versions.emplace_back("CUDA of the driver", cuda_version(cuda));
    add_devices(devices, evidence);
}

}  // namespace

void add_versions(const RecordedProcess* process, const EndedRun& run, Evidence& evidence) {
    evidence.versions = python_versions(process, run);
    add_driver(process, evidence);
    if (process == nullptr) return;
    const KeptPackages kept(process->folder, {process->pid, process->start_unix_ns});
    const std::vector<std::string> packages = names_of(kept.of(~0U));
    if (!packages.empty())
        evidence.versions.emplace_back(packages.size() == 1 ? "package" : "packages", joined(packages, ", "));
}

}  // namespace aoti_dbg
