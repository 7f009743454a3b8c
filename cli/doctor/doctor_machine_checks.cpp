// See doctor_checks.hpp. These checks judge variables, directories and limits of this process.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "cli/doctor/doctor_checks.hpp"
#include "config/byte_size.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
// Ring, events and evidence of a small model, plus one core dump of the driver.
constexpr std::uint64_t kLeastRoom = 16 * kMiB;
// The library's writers, rings and events, on top of what torch and a program open.
constexpr std::uint64_t kFewFiles = 256;
// The driver reserves more address space than the GPU has memory before any kernel runs.
constexpr std::uint64_t kSmallAddressSpace = std::uint64_t{256} << 30U;
// What torch needs on top of the staging memory.
constexpr std::uint64_t kMemoryOfTorch = std::uint64_t{1} << 30U;

// Allocators and the run-time libraries of OpenMP and of sanitizers, which intercept nothing that the library
// does.
constexpr std::string_view kHarmless[] = {"libjemalloc", "libtcmalloc", "libmimalloc", "libgomp",
                                          "libiomp5",    "libasan",     "libtsan",     "libubsan",
                                          "libclang_rt", "libstdc++",   "libgcc_s",    "libaoti_dbg"};

struct Telltale {
    std::string_view begins;
    const char* text;
    const char* advice;
};

constexpr const char* kOneAtATime =
    "Run either that tool or aoti-dbg, because one can hide launches from the other.";
constexpr const char* kOverrides = "overrides the library's core dump settings";
constexpr const char* kUnsetForTriage = "Unset it for `aoti-dbg run --triage`.";
constexpr Telltale kTelltales[] = {
    {"LD_AUDIT", "an audit library can bypass the library", "Unset it."},
    {"CUDA_INJECTION64_PATH", "the driver loads a tool", kOneAtATime},
    {"NSYS_", "Nsight Systems is active", kOneAtATime},
    {"NV_NSIGHT_", "Nsight Compute is active", kOneAtATime},
    {"NV_COMPUTE_PROFILER_", "Nsight Compute is active", kOneAtATime},
    {"NV_SANITIZER_", "compute-sanitizer is active", kOneAtATime},
    {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", kOverrides,
     "Unset it for `aoti-dbg run --triage`, which needs the core dump in its output directory."},
    {"CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", kOverrides, kUnsetForTriage},
    {"CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", kOverrides, kUnsetForTriage},
    {"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "other processes can trigger core dumps", kUnsetForTriage},
    {"CUDA_COREDUMP_", kOverrides, kUnsetForTriage},
    {"CUDA_LAUNCH_BLOCKING", "every launch waits for its kernel",
     "Unset it unless you debug a fault, because it slows the program and hides races."},
};

bool is_off(std::string_view name, std::string_view value) {
    return value.empty() || (name == "CUDA_LAUNCH_BLOCKING" && value == "0");
}

bool is_harmless(const std::string& entry) {
    const std::string file = std::filesystem::path(entry).filename().string();
    // `aoti-dbg run` passes a library by descriptor if LD_PRELOAD cannot express its path.
    if (entry.rfind("/proc/", 0) == 0 && entry.find("/fd/") != std::string::npos) return true;
    return std::any_of(std::begin(kHarmless), std::end(kHarmless),
                       [&file](std::string_view begin) { return file.rfind(begin, 0) == 0; });
}

/// Returns the entries of a library list that are not known to be harmless.
std::vector<std::string> strangers(std::string list) {
    std::replace(list.begin(), list.end(), ':', ' ');
    std::vector<std::string> found;
    std::istringstream entries(list);
    for (std::string entry; entries >> entry;)
        if (!is_harmless(entry)) found.push_back(entry);
    return found;
}

void add_strangers(const std::string& list, const std::string& where, const char* advice,
                   std::vector<Check>& checks) {
    for (const std::string& library : strangers(list)) {
        checks.push_back(
            {"interposers", CheckState::warning,
             printable(library, 200) + ", from " + where + ", may intercept calls before the library",
             advice});
    }
}

std::string amount(const std::optional<std::uint64_t>& limit) {
    return limit ? byte_size_text(*limit) : "unlimited";
}

}  // namespace

std::vector<Check> check_interposers(const InterposerFacts& facts) {
    std::vector<Check> checks;
    add_strangers(facts.system_preload, "/etc/ld.so.preload",
                  "Remove it from /etc/ld.so.preload if the check `doors` is not ok.", checks);
    for (const auto& [name, value] : facts.variables) {
        if (name == "LD_PRELOAD") {
            add_strangers(value, name, "Remove it from LD_PRELOAD if the check `doors` is not ok.", checks);
            continue;
        }
        const auto* const found =
            std::find_if(std::begin(kTelltales), std::end(kTelltales),
                         [&name = name](const Telltale& t) { return name.rfind(t.begins, 0) == 0; });
        if (found == std::end(kTelltales) || is_off(name, value)) continue;
        checks.push_back({"interposers", CheckState::warning,
                          printable(name, 80) + "=" + printable(value, 120) + ": " + found->text,
                          found->advice});
    }
    if (checks.empty()) checks.push_back({"interposers", CheckState::ok, "no known interposers", {}});
    return checks;
}

Check check_output(const OutputFacts& facts) {
    const std::string name = "output";
    const std::string where = printable(facts.pattern, 200) + " (in " + printable(facts.place, 200) + ")";
    if (!facts.refused.empty()) {
        return {name, CheckState::failure, where + " is not writable: " + facts.refused,
                "Set AOTI_DBG_OUT to a writable directory."};
    }
    // The library never writes to the last tenth of a file system.
    const std::uint64_t kept = facts.size / 10;
    const std::uint64_t usable = facts.room > kept ? facts.room - kept : 0;
    if (usable < kLeastRoom) {
        return {name, CheckState::failure,
                where + ": expected " + byte_size_text(kLeastRoom) + " of usable space, got " +
                    byte_size_text(usable) + " (a tenth of the file system stays free)",
                "Free some space, or set AOTI_DBG_OUT to another file system."};
    }
    if (facts.file_limit && *facts.file_limit < kLeastRoom) {
        return {name, CheckState::failure,
                "expected a file size limit of at least " + byte_size_text(kLeastRoom) + ", got " +
                    byte_size_text(*facts.file_limit),
                "Raise the limit with `ulimit -f unlimited`."};
    }
    if (!facts.network.empty()) {
        return {name, CheckState::warning, where + " is on a network file system (" + facts.network + ")",
                "Set AOTI_DBG_OUT to a local disk, because a network file system can be slow and can lose "
                "mapped files in a crash."};
    }
    if (facts.max_bytes != UINT64_MAX && usable < facts.max_bytes) {
        return {
            name, CheckState::warning,
            where + ": expected " + byte_size_text(facts.max_bytes) +
                " of usable space (AOTI_DBG_MAX_BYTES), got " + byte_size_text(usable),
            "To save tensors (level 1), set AOTI_DBG_OUT to a larger file system or select fewer tensors. "
            "Ignore this for names and statistics."};
    }
    return {name, CheckState::ok, where + " is writable, " + byte_size_text(usable) + " usable", {}};
}

std::vector<Check> check_limits(const LimitFacts& facts) {
    std::vector<Check> checks;
    const auto warn = [&checks](std::string text, std::string advice) {
        checks.push_back({"limits", CheckState::warning, std::move(text), std::move(advice)});
    };
    if (facts.files && *facts.files < kFewFiles) {
        warn("expected a limit of at least " + std::to_string(kFewFiles) + " open files, got " +
                 std::to_string(*facts.files),
             "Raise the limit with `ulimit -n 1024`, because torch and level 1 need several hundred.");
    }
    if (facts.has_gpu && facts.address_space && *facts.address_space < kSmallAddressSpace) {
        warn("expected an address space limit of at least " + byte_size_text(kSmallAddressSpace) + ", got " +
                 byte_size_text(*facts.address_space),
             "Lift the limit with `ulimit -v unlimited`, because the CUDA driver reserves more.");
    }
    if (facts.memory && *facts.memory < facts.staging + kMemoryOfTorch) {
        warn("expected a control group memory limit of at least " +
                 byte_size_text(facts.staging + kMemoryOfTorch) + " for level 1 (AOTI_DBG_STAGING is " +
                 byte_size_text(facts.staging) + "), got " + byte_size_text(*facts.memory),
             "Raise the container's memory limit, or lower AOTI_DBG_STAGING.");
    }
    // Memory that the driver registers usually does not count as locked, so the number is only informative.
    std::string text = "core files " + (facts.core == 0U ? "none" : amount(facts.core)) + ", locked memory " +
                       amount(facts.locked) + ", open files " +
                       (facts.files ? std::to_string(*facts.files) : "unlimited") + ", address space " +
                       amount(facts.address_space) + ", memory " + amount(facts.memory);
    text += ", /dev/shm " + (facts.shared_memory ? byte_size_text(*facts.shared_memory) : "none");
    if (facts.seccomp != 0) text += ", seccomp filter active";
    if (facts.no_new_privileges) text += ", no_new_privs set";
    if (checks.empty()) checks.push_back({"limits", CheckState::ok, text, {}});
    return checks;
}

std::vector<Check> check_options(const std::vector<std::string>& complaints) {
    std::vector<Check> checks;
    checks.reserve(complaints.size());
    for (const std::string& complaint : complaints)
        checks.push_back(
            {"options", CheckState::warning, complaint, "`aoti-dbg run --help-all` lists all options."});
    if (checks.empty()) checks.push_back({"options", CheckState::ok, "all options are valid", {}});
    return checks;
}

}  // namespace aoti_dbg::cli
