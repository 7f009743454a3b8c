// See doctor_checks.hpp: what variables, folders and limits of this process say.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "cli/doctor_checks.hpp"
#include "config/byte_size.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
// Ring, events and evidence of a small model, with a core dump of the driver's.
constexpr std::uint64_t kLeastRoom = 16 * kMiB;
// Writers, rings and events of ours beside what torch and a program open.
constexpr std::uint64_t kFewFiles = 256;
// The driver reserves more than a GPU has memory, before anything is computed.
constexpr std::uint64_t kSmallAddressSpace = std::uint64_t{256} << 30U;
// torch beside its staging memory.
constexpr std::uint64_t kMemoryOfTorch = std::uint64_t{1} << 30U;

// Allocators, run-times of OpenMP and of sanitizers: nothing of theirs stands where we do.
constexpr std::string_view kHarmless[] = {"libjemalloc", "libtcmalloc", "libmimalloc", "libgomp",
                                          "libiomp5",    "libasan",     "libtsan",     "libubsan",
                                          "libclang_rt", "libstdc++",   "libgcc_s",    "libaoti_dbg"};

struct Telltale {
    std::string_view begins;
    const char* text;
    const char* advice;
};

constexpr const char* kOneAtATime = "run either that tool or aoti-dbg: of two, one may see nothing";
constexpr Telltale kTelltales[] = {
    {"LD_AUDIT", "an auditor may bind functions past the library", "unset it"},
    {"CUDA_INJECTION64_PATH", "a tool is loaded into the driver", kOneAtATime},
    {"NSYS_", "Nsight Systems is at work", kOneAtATime},
    {"NV_NSIGHT_", "Nsight Compute is at work", kOneAtATime},
    {"NV_COMPUTE_PROFILER_", "Nsight Compute is at work", kOneAtATime},
    {"NV_SANITIZER_", "compute-sanitizer is at work", kOneAtATime},
    {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "core dumps of the driver go where this says",
     "unset it for aoti-dbg run --triage, whose report needs the dump in the output folder"},
    {"CUDA_ENABLE_LIGHTWEIGHT_COREDUMP", "core dumps of the driver are as this says",
     "unset it for aoti-dbg run --triage"},
    {"CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", "core dumps of the driver are as this says",
     "unset it for aoti-dbg run --triage"},
    {"CUDA_ENABLE_USER_TRIGGERED_COREDUMP", "core dumps of the driver may be asked for from outside",
     "unset it for aoti-dbg run --triage"},
    {"CUDA_COREDUMP_", "core dumps of the driver are as this says", "unset it for aoti-dbg run --triage"},
    {"CUDA_LAUNCH_BLOCKING", "every launch waits for its kernel",
     "unset it unless you look for a fault: it is slow, and hides errors of timing"},
};

bool is_off(std::string_view name, std::string_view value) {
    return value.empty() || (name == "CUDA_LAUNCH_BLOCKING" && value == "0");
}

bool is_harmless(const std::string& entry) {
    const std::string file = std::filesystem::path(entry).filename().string();
    // A library that LD_PRELOAD cannot carry is named by a descriptor of `aoti-dbg run`.
    if (entry.rfind("/proc/", 0) == 0 && entry.find("/fd/") != std::string::npos) return true;
    return std::any_of(std::begin(kHarmless), std::end(kHarmless),
                       [&file](std::string_view begin) { return file.rfind(begin, 0) == 0; });
}

/// Entries of a list of libraries, those that are known to do no harm left out.
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
             printable(library, 200) + ", from " + where + ", may stand between programs and the library",
             advice});
    }
}

std::string amount(const std::optional<std::uint64_t>& limit) {
    return limit ? byte_size_text(*limit) : "unlimited";
}

}  // namespace

std::vector<Check> check_interposers(const InterposerFacts& facts) {
    std::vector<Check> checks;
    add_strangers(facts.system_preload, "/etc/ld.so.preload", "take it out if the line `doors` is not ok",
                  checks);
    for (const auto& [name, value] : facts.variables) {
        if (name == "LD_PRELOAD") {
            add_strangers(value, name, "leave it out if the line `doors` is not ok", checks);
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
    if (checks.empty()) checks.push_back({"interposers", CheckState::ok, "none that is known", {}});
    return checks;
}

Check check_output(const OutputFacts& facts) {
    const std::string name = "output";
    const std::string where = printable(facts.pattern, 200) + " (in " + printable(facts.place, 200) + ")";
    if (!facts.refused.empty()) {
        return {name, CheckState::failure, where + " cannot be written: " + facts.refused,
                "set AOTI_DBG_OUT to a folder that can be"};
    }
    // The last tenth of a file system is never written to.
    const std::uint64_t kept = facts.size / 10;
    const std::uint64_t usable = facts.room > kept ? facts.room - kept : 0;
    if (usable < kLeastRoom) {
        return {
            name, CheckState::failure,
            where + " has room for " + byte_size_text(usable) + ", the last tenth of its file system kept",
            "make room, or set AOTI_DBG_OUT to another file system"};
    }
    if (facts.file_limit && *facts.file_limit < kLeastRoom) {
        return {name, CheckState::failure, "files may have no more than " + byte_size_text(*facts.file_limit),
                "raise that limit: ulimit -f unlimited"};
    }
    if (!facts.network.empty()) {
        return {name, CheckState::warning, where + " is on a network file system (" + facts.network + ")",
                "set AOTI_DBG_OUT to a local disk: ring and log are mapped files, which there may be slow, "
                "and may not survive a crash"};
    }
    if (facts.max_bytes != UINT64_MAX && usable < facts.max_bytes) {
        return {name, CheckState::warning,
                where + " has room for " + byte_size_text(usable) + ", less than AOTI_DBG_MAX_BYTES (" +
                    byte_size_text(facts.max_bytes) + ")",
                "names and statistics fit; to save tensors (level 1) set AOTI_DBG_OUT to a larger file "
                "system, or choose fewer of them"};
    }
    return {name, CheckState::ok, where + " can be written, room for " + byte_size_text(usable), {}};
}

std::vector<Check> check_limits(const LimitFacts& facts) {
    std::vector<Check> checks;
    const auto warn = [&checks](std::string text, std::string advice) {
        checks.push_back({"limits", CheckState::warning, std::move(text), std::move(advice)});
    };
    if (facts.files && *facts.files < kFewFiles) {
        warn("only " + std::to_string(*facts.files) + " files may be open",
             "raise it (ulimit -n 1024): torch and level 1 need some hundred");
    }
    if (facts.has_gpu && facts.address_space && *facts.address_space < kSmallAddressSpace) {
        warn("the address space is limited to " + byte_size_text(*facts.address_space),
             "lift it (ulimit -v unlimited): the CUDA driver reserves more than that");
    }
    if (facts.memory && *facts.memory < facts.staging + kMemoryOfTorch) {
        warn("the control group may have " + byte_size_text(*facts.memory) +
                 " of memory, and level 1 takes AOTI_DBG_STAGING (" + byte_size_text(facts.staging) +
                 ") of it",
             "raise the container's limit, or lower AOTI_DBG_STAGING");
    }
    // What the driver registers does not count as locked as a rule, so that number is for the reader.
    std::string text = "core files " + (facts.core == 0U ? "none" : amount(facts.core)) + ", locked memory " +
                       amount(facts.locked) + ", open files " +
                       (facts.files ? std::to_string(*facts.files) : "unlimited") + ", address space " +
                       amount(facts.address_space) + ", memory " + amount(facts.memory);
    text += ", /dev/shm " + (facts.shared_memory ? byte_size_text(*facts.shared_memory) : "none");
    if (facts.seccomp != 0) text += ", a seccomp filter";
    if (facts.no_new_privileges) text += ", no new privileges";
    if (checks.empty()) checks.push_back({"limits", CheckState::ok, text, {}});
    return checks;
}

std::vector<Check> check_options(const std::vector<std::string>& complaints) {
    std::vector<Check> checks;
    checks.reserve(complaints.size());
    for (const std::string& complaint : complaints)
        checks.push_back({"options", CheckState::warning, complaint,
                          "see docs/reference/options.md, or aoti-dbg run --help-all"});
    if (checks.empty())
        checks.push_back({"options", CheckState::ok, "nothing is wrong with what is set", {}});
    return checks;
}

}  // namespace aoti_dbg::cli
