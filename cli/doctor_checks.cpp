// See doctor_checks.hpp: what children of the command found out. The rest is doctor_machine_checks.cpp.
#include "cli/doctor_checks.hpp"

#include <cstdio>

#include "base/words.hpp"
#include "config/byte_size.hpp"
#include "serializer/cuda_error.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr int kNoDevice = 100;
constexpr int kStubLibrary = 34;
// cuFuncGetParamInfo, by which the arguments of kernels without sources are told apart.
constexpr int kOldestForArguments = 12040;
constexpr int kProhibited = 2;
constexpr int kExclusiveProcess = 3;

constexpr const char* kCpuOnly = ": CPU models only";
constexpr const char* kNoGpuToTry = "not tried, no GPU can be used";

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

/// What to do where a call of the driver's failed before a launch.
std::string advice_for(const std::string& stopped) {
    if (stopped.rfind("cuModuleLoadData", 0) == 0)
        return "the driver's compiler, libnvidia-ptxjitcompiler.so.1, belongs beside libcuda.so.1 (in "
               "containers: the capability `compute`); CUDA_DISABLE_PTX_JIT must not be set";
    return "see whether other programs can use the GPU: it may be full, or taken by one process";
}

std::string in_words(const std::vector<std::string>& warnings) {
    return warnings.empty() ? "" : "; the library says: " + joined(warnings, "; ");
}

Check judge_failed_init(const DriverFacts& facts) {
    const std::string version = version_text(facts);
    if (*facts.init == kNoDevice) {
        const bool hidden = facts.visible.has_value();
        return warning(
            "driver", version + ", no GPU" + kCpuOnly,
            hidden ? "for GPU models: CUDA_VISIBLE_DEVICES is \"" + *facts.visible +
                         "\"; unset it, or name devices that nvidia-smi -L lists"
                   : "for GPU models: nvidia-smi -L must list one; start a container with --gpus all");
    }
    if (*facts.init == kStubLibrary) {
        return failure("driver",
                       version + ", libcuda.so.1 is the toolkit's stub, which has no driver behind it",
                       "take the folder `stubs` out of LD_LIBRARY_PATH");
    }
    return failure("driver", version + ", cuInit returned " + error_text(*facts.init),
                   "see whether nvidia-smi works; after an update of the driver load its modules anew, or "
                   "restart the machine");
}

/// Why a driver that answered cannot write core dumps; empty where it can.
std::string no_dumps(const DriverFacts& facts) {
    if (!facts.dump_attributes) return version_text(facts) + " cannot be asked for core dumps of faults";
    if (*facts.dump_attributes == 0) return {};
    return "the driver refuses to write core dumps of faults: " + error_text(*facts.dump_attributes);
}

}  // namespace

Check check_library(const LibraryFacts& facts) {
    if (facts.path.empty()) {
        return failure("library", "libaoti_dbg.so was not found",
                       "install it beside aoti-dbg or in ../lib from there");
    }
    if (!facts.is_loaded) {
        const std::string why = !facts.loader.empty()    ? facts.loader
                                : !facts.trouble.empty() ? "the program under it " + facts.trouble
                                                         : "the loader passed over it";
        return failure("library", facts.path + " cannot be preloaded: " + why,
                       "check that the file may be read and mapped (a file system mounted noexec, "
                       "SELinux), that glibc is 2.34 or newer, and install aoti-dbg anew");
    }
    if (!facts.trouble.empty()) {
        return failure("library", "a program that preloads " + facts.path + " " + facts.trouble,
                       "run it without other preloaded libraries (LD_PRELOAD, /etc/ld.so.preload); if it is "
                       "the same then, report it");
    }
    if (facts.version.empty()) {
        return warning("library", facts.path + " loads, and does not say its version",
                       "install the library of aoti-dbg " + facts.own_version);
    }
    if (facts.version != facts.own_version) {
        return failure("library",
                       facts.path + " is version " + facts.version + ", this command " + facts.own_version,
                       "install both of one version; what one writes the other may not read");
    }
    return ok("library", facts.path + ", version " + facts.version + ", loads");
}

Check check_driver(const DriverFacts& facts) {
    if (!facts.trouble.empty()) {
        return failure("driver", "a program that asked the driver " + facts.trouble,
                       "see whether nvidia-smi answers, and what the kernel says (dmesg | grep -i nvrm)");
    }
    if (!facts.missing.empty()) {
        if (facts.missing.find("No such file") != std::string::npos)
            return warning("driver", std::string("no libcuda.so.1") + kCpuOnly,
                           "for GPU models install NVIDIA's driver; start a container with --gpus all");
        return failure("driver", "libcuda.so.1 cannot be loaded: " + facts.missing,
                       "install the driver's libraries anew, in the version of its kernel module");
    }
    if (!facts.init) {
        return failure("driver", "libcuda.so.1 has no cuInit, so it is no driver",
                       "see which file that is: ldconfig -p | grep libcuda, and LD_LIBRARY_PATH");
    }
    if (*facts.init != 0) return judge_failed_init(facts);
    if (facts.gpus.empty())
        return warning("driver", version_text(facts) + ", no GPU" + kCpuOnly,
                       "for GPU models: nvidia-smi -L must list one");
    if (facts.version < kOldestForArguments) {
        return warning("driver", version_text(facts) + ", older than CUDA 12.4",
                       "names are told; for the tensors of every kernel use a driver of CUDA 12.4 or newer");
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
            checks.push_back(warning(name, text + ", compute mode prohibited: no program can use it",
                                     "nvidia-smi -i " + std::to_string(checks.size()) + " -c DEFAULT"));
            continue;
        }
        if (gpu.compute_mode == kExclusiveProcess) text += ", for one process at a time";
        checks.push_back(ok(name, text));
    }
    return checks;
}

Check check_python(const PythonFacts& facts) {
    if (facts.program.empty()) {
        return ok("python", "none on the PATH, so versions of torch and Triton are not known");
    }
    if (facts.torch.empty()) {
        return warning("python", facts.program + " has no torch of its own",
                       "put the environment of your model first on the PATH, so that reports name its "
                       "versions; C++ programs need none");
    }
    const std::string triton = facts.triton.empty() ? ", no Triton" : ", Triton " + facts.triton;
    return ok("python", "torch " + facts.torch + triton + ", of " + facts.program);
}

Check check_doors(const DoorFacts& facts) {
    const std::string name = "doors";
    if (!facts.is_library_loaded) {
        return warning(name, "not tried, the library was not loaded", "see the line `library`");
    }
    if (!facts.trouble.empty()) {
        return failure(name, "a program under the library " + facts.trouble + in_words(facts.warnings),
                       "run it without other preloaded libraries and profilers; if it is the same then, "
                       "report it");
    }
    if (!facts.is_dlsym_ours) {
        return failure(name,
                       "programs get dlsym from " + facts.dlsym_of + ", so models may not be seen" +
                           in_words(facts.warnings),
                       "put libaoti_dbg.so first in LD_PRELOAD, or run without the other library");
    }
    const std::string models = "dlsym, by which models come, is the library's";
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
        return failure(name,
                       "launches by " + joined(unseen, ", ") + " are not seen" + in_words(facts.warnings),
                       "run without what else interposes the driver, see the lines `interposers`");
    }
    if (!facts.has_gpu) {
        return warning(name,
                       models + "; launches by dlsym of libcuda, cuGetProcAddress and linked: " + kNoGpuToTry,
                       "CPU models need none of these; for GPU models see the line `driver`");
    }
    if (seen.empty()) {
        const std::string why = facts.stopped.empty() ? joined(untried, ", ") : facts.stopped;
        return warning(name, models + "; launches could not be tried: " + why, advice_for(facts.stopped));
    }
    std::string text = models + "; launches by " + joined(seen, ", ") + " are seen";
    if (untried.empty() && facts.stopped.empty() && facts.warnings.empty()) return ok(name, text);
    if (!untried.empty()) text += "; not tried: " + joined(untried, ", ");
    if (!facts.stopped.empty()) text += "; then " + facts.stopped;
    return warning(name, text + in_words(facts.warnings),
                   "look with aoti-dbg run --scope all whether your program's launches are printed");
}

Check check_dumps(const DriverFacts& facts) {
    const std::string name = "core dumps";
    if (!facts.has_gpu()) {
        return warning(name, std::string("of faults in kernels: ") + kNoGpuToTry,
                       "CPU models need none; for GPU models see the line `driver`");
    }
    if (const std::string why = no_dumps(facts); !why.empty()) {
        return warning(name, why,
                       "use a driver of CUDA 12.1 or newer; until then markers behind each launch tell which "
                       "kernel faulted (AOTI_DBG_COMPLETION)");
    }
    return ok(name, std::string("the driver writes them where a kernel faults") +
                        (facts.tells_of_dumps ? ", and can say when it begins to" : ""));
}

Check check_fault(const FaultFacts& facts, std::string_view kernel) {
    const std::string name = "fault";
    const std::string said = in_words(facts.warnings);
    if (!facts.has_gpu) {
        return failure(name, std::string("no kernel could be made to fault: ") + kNoGpuToTry,
                       "run aoti-dbg doctor --fault where the GPU is, or without --fault here");
    }
    if (!facts.trouble.empty()) {
        return failure(name, "the program whose kernel was to fault " + facts.trouble + said,
                       "see nvidia-smi and what the kernel says (dmesg | grep -i nvrm)");
    }
    if (!facts.stopped.empty()) {
        return warning(name, "could not be tried: " + facts.stopped + said, advice_for(facts.stopped));
    }
    if (!facts.launch || *facts.launch != 0) {
        return failure(name,
                       "the kernel could not be launched: " +
                           (facts.launch ? error_text(*facts.launch) : "nobody said why") + said,
                       "see whether other programs can use the GPU");
    }
    const std::string seen =
        facts.error ? "the program saw: " + error_text(*facts.error) : "the program saw no error within 5 s";
    if (facts.has_verdict && facts.kernel == kernel && facts.kind == word_of(CrashClass::kernel)) {
        std::string text = facts.verdict + ", class " + facts.kind;
        if (facts.dump_seconds) {
            char seconds[32];
            std::snprintf(seconds, sizeof seconds, "%.2f", *facts.dump_seconds);
            text += ", told from a dump of " + byte_size_text(facts.dump_bytes) + ", whole " + seconds +
                    " s after the launch";
        }
        if (facts.error) return ok(name, text);
        return warning(name, text + "; but " + seen,
                       "programs may end well though a kernel has faulted; trust the report");
    }
    const std::string verdict =
        !facts.has_verdict
            ? "there is no verdict"
            : "the verdict does not name the kernel: " + facts.verdict + ", class " + facts.kind;
    return failure(name, seen + ", but " + verdict + said,
                   "see the lines `core dumps` and `interposers`; without them CUDA_LAUNCH_BLOCKING=1 makes "
                   "the last call in the flight ring the one that faulted");
}

}  // namespace aoti_dbg::cli
