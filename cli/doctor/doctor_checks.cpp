// See doctor_checks.hpp. These checks judge what child processes found. doctor_machine_checks.cpp has the
// others.
#include "cli/doctor/doctor_checks.hpp"

#include <cstdio>

#include "base/words.hpp"
#include "config/byte_size.hpp"
#include "serializer/cuda_error.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr int kNoDevice = 100;
constexpr int kStubLibrary = 34;
// cuFuncGetParamInfo needs this version. It separates the arguments of kernels without sources.
constexpr int kOldestForArguments = 12040;
constexpr int kProhibited = 2;
constexpr int kExclusiveProcess = 3;

constexpr const char* kCpuOnly = ": CPU models only";
constexpr const char* kNoGpuToTry = "not tested: no usable GPU";
constexpr const char* kFixDriver = "To run GPU models, fix the check `driver`. Ignore this for CPU models.";

Check ok(std::string name, std::string text) {
    return {std::move(name), CheckState::ok, std::move(text), {}};
}

Check warning(std::string name, std::string text, std::string advice) {
    return {std::move(name), CheckState::warning, std::move(text), std::move(advice)};
}

Check failure(std::string name, std::string text, std::string advice) {
    return {std::move(name), CheckState::failure, std::move(text), std::move(advice)};
}

std::string error_text(int number) {
    const CudaError error = cuda_error(number);
    const bool is_known = error.kind != CrashClass::unknown;
    return is_known ? std::string(error.words) + " (" + std::to_string(number) + ")"
                    : "error " + std::to_string(number);
}

std::string version_text(const DriverFacts& facts) {
    std::string text = facts.package;
    if (facts.version == 0) return text.empty() ? "unknown version" : text;
    if (!text.empty()) text += ", ";
    return text + "CUDA " + std::to_string(facts.version / 1000) + "." +
           std::to_string(facts.version % 1000 / 10);
}

/// The remedy for a driver call that failed before a launch.
std::string advice_for(const std::string& stopped) {
    if (stopped.rfind("cuModuleLoadData", 0) == 0)
        return "Install libnvidia-ptxjitcompiler.so.1 beside libcuda.so.1 (in a container, add `compute` to "
               "NVIDIA_DRIVER_CAPABILITIES). Unset CUDA_DISABLE_PTX_JIT.";
    return "Check with `nvidia-smi` whether other processes fill the GPU or hold it exclusively.";
}

std::string in_words(const std::vector<std::string>& warnings) {
    if (warnings.empty()) return {};
    std::string words = "; the library reports: " + joined(warnings, " ");
    if (words.back() == '.') words.pop_back();
    return words;
}

Check judge_failed_init(const DriverFacts& facts) {
    const std::string version = version_text(facts);
    if (*facts.init == kNoDevice) {
        const bool hidden = facts.visible.has_value();
        return warning(
            "driver", version + ", no GPU" + kCpuOnly,
            hidden ? "To run GPU models, unset CUDA_VISIBLE_DEVICES (now \"" + *facts.visible +
                         "\") or set it to devices that `nvidia-smi -L` lists."
                   : "To run GPU models, make sure that `nvidia-smi -L` lists a GPU. Start containers with "
                     "`--gpus all`.");
    }
    if (*facts.init == kStubLibrary) {
        return failure("driver", version + ", libcuda.so.1 is the CUDA Toolkit's stub, not a driver",
                       "Remove the directory `stubs` from LD_LIBRARY_PATH.");
    }
    return failure(
        "driver", version + ", cuInit failed: " + error_text(*facts.init),
        "Check that `nvidia-smi` works. After a driver update, reload the kernel modules or restart "
        "the machine.");
}

/// Why a driver that responds cannot write core dumps. Empty if it can.
std::string no_dumps(const DriverFacts& facts) {
    if (!facts.dump_attributes) return "the driver (" + version_text(facts) + ") has no core dump API";
    if (*facts.dump_attributes == 0) return {};
    return "the driver refuses core dumps: " + error_text(*facts.dump_attributes);
}

}  // namespace

Check check_library(const LibraryFacts& facts) {
    if (facts.path.empty()) {
        return failure("library", "libaoti_dbg.so was not found", "Install it beside aoti-dbg or in ../lib.");
    }
    // A mismatch explains every other problem with the library.
    if (!facts.version.empty() && facts.version != facts.own_version) {
        return failure("library",
                       facts.path + ": expected version " + facts.own_version + " (this command's), got " +
                           facts.version,
                       "Install the command and the library from the same release.");
    }
    if (!facts.is_loaded) {
        const std::string why = !facts.loader.empty()    ? facts.loader
                                : !facts.trouble.empty() ? "the test process " + facts.trouble
                                                         : "the loader ignored it";
        return failure(
            "library", facts.path + " cannot be preloaded: " + why,
            "Check file permissions, noexec mounts, SELinux and the glibc version (2.34 or later). If "
            "these are fine, reinstall aoti-dbg.");
    }
    if (!facts.trouble.empty()) {
        return failure("library", "a test process that preloads " + facts.path + " " + facts.trouble,
                       "Run `aoti-dbg doctor` without other preloaded libraries (LD_PRELOAD, "
                       "/etc/ld.so.preload). If it still fails, report a bug.");
    }
    if (facts.version.empty()) {
        return warning("library", facts.path + " loads, but does not report its version",
                       "Install the library from aoti-dbg " + facts.own_version + ".");
    }
    return ok("library", facts.path + ", version " + facts.version + ", loads");
}

Check check_driver(const DriverFacts& facts) {
    if (!facts.trouble.empty()) {
        return failure("driver", "a test process that queried the driver " + facts.trouble,
                       "Check that `nvidia-smi` responds, and read the kernel log (`dmesg | grep -i nvrm`).");
    }
    if (!facts.missing.empty()) {
        if (facts.missing.find("No such file") != std::string::npos)
            return warning("driver", std::string("no libcuda.so.1") + kCpuOnly,
                           "To run GPU models, install NVIDIA's driver. Start containers with `--gpus all`.");
        return failure("driver", "libcuda.so.1 cannot be loaded: " + facts.missing,
                       "Reinstall the driver libraries that match the version of the kernel module.");
    }
    if (!facts.init) {
        return failure("driver", "libcuda.so.1 has no cuInit, so it is not a driver",
                       "Find that file with `ldconfig -p | grep libcuda`, and check LD_LIBRARY_PATH.");
    }
    if (*facts.init != 0) return judge_failed_init(facts);
    if (facts.gpus.empty())
        return warning("driver", version_text(facts) + ", no GPU" + kCpuOnly,
                       "To run GPU models, make sure that `nvidia-smi -L` lists a GPU.");
    if (facts.version < kOldestForArguments) {
        return warning("driver",
                       version_text(facts) + ", older than CUDA 12.4: no tensors for kernels without sources",
                       "To inspect the tensors of every kernel, install a driver for CUDA 12.4 or later.");
    }
    return ok("driver", version_text(facts));
}

std::vector<Check> check_gpus(const DriverFacts& facts) {
    std::vector<Check> checks;
    if (!facts.trouble.empty()) return checks;
    for (const Gpu& gpu : facts.gpus) {
        const std::string name = "GPU " + std::to_string(checks.size());
        std::string text = gpu.name;
        if (!gpu.uuid.empty()) text += ", " + gpu.uuid;
        if (gpu.memory != 0) text += ", " + byte_size_text(gpu.memory);
        if (!gpu.capability.empty()) text += ", compute capability " + gpu.capability;
        if (gpu.name.find("MIG ") != std::string::npos) text += ", a MIG instance";
        if (gpu.compute_mode == kProhibited) {
            checks.push_back(
                warning(name, text + ", compute mode prohibited: no program can use it",
                        "Run `nvidia-smi -i " + std::to_string(checks.size()) + " -c DEFAULT`."));
            continue;
        }
        if (gpu.compute_mode == kExclusiveProcess) text += ", exclusive to one process";
        checks.push_back(ok(name, text));
    }
    return checks;
}

Check check_python(const PythonFacts& facts) {
    if (facts.program.empty()) {
        return ok("python", "no Python on PATH, so torch and Triton versions are unknown");
    }
    if (facts.torch.empty()) {
        return warning("python", facts.program + " has no torch",
                       "Put the Python environment of your model first on PATH, so that reports show its "
                       "versions. Ignore this for C++ programs.");
    }
    const std::string triton = facts.triton.empty() ? ", no Triton" : ", Triton " + facts.triton;
    return ok("python", "torch " + facts.torch + triton + ", from " + facts.program);
}

Check check_doors(const DoorFacts& facts) {
    const std::string name = "doors";
    if (!facts.is_library_loaded) {
        return warning(name, "not tested: the library was not loaded", "Fix the check `library`.");
    }
    if (!facts.trouble.empty()) {
        return failure(
            name, "a test process under the library " + facts.trouble + in_words(facts.warnings),
            "Run `aoti-dbg doctor` without profilers and other preloaded libraries. If it still fails, "
            "report a bug.");
    }
    if (!facts.is_dlsym_ours) {
        return failure(name,
                       "programs get dlsym from " + facts.dlsym_of + ", so the library may miss model loads" +
                           in_words(facts.warnings),
                       "Put libaoti_dbg.so first in LD_PRELOAD, or remove the other library.");
    }
    const std::string models = "model loads (dlsym) are intercepted";
    std::vector<std::string> seen;
    std::vector<std::string> unseen;
    std::vector<std::string> untried;
    for (const Door& door : facts.doors) {
        if (!door.launch || *door.launch != 0) {
            untried.push_back(door.name + (door.launch ? ": " + error_text(*door.launch) : ""));
        } else {
            (door.is_seen ? seen : unseen).push_back(door.name);
        }
    }
    if (!unseen.empty()) {
        return failure(
            name, "launches (" + joined(unseen, ", ") + ") are not intercepted" + in_words(facts.warnings),
            "Remove other libraries that interpose the driver (see the lines `interposers`).");
    }
    if (!facts.has_gpu) {
        return warning(name, models + ", launches " + kNoGpuToTry, kFixDriver);
    }
    if (seen.empty()) {
        const std::string why = facts.stopped.empty() ? joined(untried, ", ") : facts.stopped;
        return warning(name, models + ", launches not tested: " + why, advice_for(facts.stopped));
    }
    std::string text = "model loads (dlsym) and launches (" + joined(seen, ", ") + ") are intercepted";
    if (untried.empty() && facts.stopped.empty() && facts.warnings.empty()) return ok(name, text);
    if (!untried.empty()) text += "; not tested: " + joined(untried, ", ");
    if (!facts.stopped.empty()) text += "; then failed: " + facts.stopped;
    return warning(
        name, text + in_words(facts.warnings),
        "Run your program under `aoti-dbg run --scope all`, and check that it prints the launches.");
}

Check check_dumps(const DriverFacts& facts) {
    const std::string name = "core dumps";
    if (!facts.has_gpu()) {
        return warning(name, kNoGpuToTry, kFixDriver);
    }
    if (const std::string why = no_dumps(facts); !why.empty()) {
        return warning(name, why,
                       "Install a driver for CUDA 12.1 or later. Until then, use completion markers "
                       "(AOTI_DBG_COMPLETION) to find the faulting kernel.");
    }
    return ok(name, std::string("the driver writes one after a kernel fault") +
                        (facts.announces_dumps ? ", and notifies the library at its start" : ""));
}

Check check_fault(const FaultFacts& facts, std::string_view kernel) {
    const std::string name = "fault";
    const std::string warnings = in_words(facts.warnings);
    if (!facts.has_gpu) {
        return failure(name, kNoGpuToTry,
                       "Run `aoti-dbg doctor --fault` on a machine with a GPU, or omit --fault.");
    }
    if (!facts.trouble.empty()) {
        return failure(name, "the test process with the faulting kernel " + facts.trouble + warnings,
                       "Check `nvidia-smi` and the kernel log (`dmesg | grep -i nvrm`).");
    }
    if (!facts.stopped.empty()) {
        return warning(name, "not tested: " + facts.stopped + warnings, advice_for(facts.stopped));
    }
    if (!facts.launch || *facts.launch != 0) {
        return failure(name,
                       "the launch failed: " +
                           (facts.launch ? error_text(*facts.launch) : "no error reported") + warnings,
                       "Check with `nvidia-smi` whether other processes use the GPU.");
    }
    const std::string seen =
        facts.error ? "the program got " + error_text(*facts.error) : "the program got no error within 5 s";
    if (facts.has_verdict && facts.kernel == kernel && facts.kind == word_of(CrashClass::kernel)) {
        std::string text = facts.verdict + ", class " + facts.kind;
        if (facts.dump_seconds) {
            char seconds[32];
            std::snprintf(seconds, sizeof seconds, "%.2f", *facts.dump_seconds);
            text += ", from a core dump of " + byte_size_text(facts.dump_bytes) + ", complete " + seconds +
                    " s after the launch";
        }
        if (facts.error) return ok(name, text);
        return warning(name, text + ", but " + seen,
                       "Trust the report, because a program can exit normally after a kernel fault.");
    }
    const std::string verdict =
        facts.has_verdict ? "class " + facts.kind + ": \"" + facts.verdict + "\"" : "none";
    return failure(name,
                   "expected a verdict of class kernel on " + std::string(kernel) + ", got " + verdict +
                       "; " + seen + warnings,
                   "Check the lines `core dumps` and `interposers`. Until they are ok, set "
                   "CUDA_LAUNCH_BLOCKING=1, so that the last recorded call is the one that faulted.");
}

}  // namespace aoti_dbg::cli
