#include "shim/faults/fault_dump.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace aoti_dbg {
namespace {

// The report needs the place of the fault and not all device memory. The dump omits nonrelocated images,
// global, shared and local memory, and constants.
constexpr unsigned kContents = CU_COREDUMP_LIGHTWEIGHT_FLAGS;

// including the terminating zero
constexpr std::size_t kLongestPath = 1024;

template <typename Value>
bool set(const FaultDumpApi& api, CUcoredumpSettings what, Value value) {
    std::size_t bytes = sizeof value;
    return api.set(what, &value, &bytes) == CUDA_SUCCESS;
}

bool set_path(const FaultDumpApi& api, CUcoredumpSettings what, const std::string& path) {
    // This is never freed, because the driver may not copy it.
    auto* const kept = new std::string(path);
    std::size_t bytes = kept->size() + 1;
    return api.set(what, kept->data(), &bytes) == CUDA_SUCCESS;
}

bool set_contents(const FaultDumpApi& api, AfterDump after) {
    const bool aborts = after == AfterDump::abort;
    const unsigned contents = kContents | (aborts ? 0U : unsigned{CU_COREDUMP_SKIP_ABORT});
    if (set(api, CU_COREDUMP_GENERATION_FLAGS, contents)) return true;
    // Drivers before 12.5 use these attributes.
    return set(api, CU_COREDUMP_LIGHTWEIGHT, true) && set(api, CU_COREDUMP_TRIGGER_HOST, aborts);
}

bool is_enabled(const FaultDumpApi& api) {
    bool enabled = false;
    std::size_t bytes = sizeof enabled;
    return api.get(CU_COREDUMP_ENABLE_ON_EXCEPTION, &enabled, &bytes) == CUDA_SUCCESS && enabled;
}

/// The values of these variables override whatever is set later.
bool is_asked_for(const char* (*variable)(const char* name)) {
    constexpr const char* kNames[] = {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP",
                                      "CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION", "CUDA_COREDUMP_FILE",
                                      "CUDA_COREDUMP_GENERATION_FLAGS"};
    return std::any_of(std::begin(kNames), std::end(kNames),
                       [variable](const char* name) { return variable(name) != nullptr; });
}

constexpr const char* kEnabledVariable = "CUDA_ENABLE_COREDUMP_ON_EXCEPTION";
constexpr const char* kFileVariable = "CUDA_COREDUMP_FILE";
constexpr const char* kDriversName = "core_%t_%h_%p.nvcudmp";

/// Returns the file name that the driver reports, else that of the variable, else the driver's default.
std::string file_asked_for(const FaultDumpApi& api, const char* (*variable)(const char* name)) {
    char text[kLongestPath] = "";
    std::size_t bytes = sizeof text;
    const bool is_answered =
        api.get != nullptr && api.get(CU_COREDUMP_FILE, text, &bytes) == CUDA_SUCCESS && text[0] != '\0';
    if (is_answered) return {text, strnlen(text, sizeof text)};
    const char* const set = variable(kFileVariable);
    return set == nullptr || *set == '\0' ? kDriversName : set;
}

/// Inserts the host and the process where the driver does. The time is that of the fault and stays open.
std::string with_names(const std::string& pattern) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        const bool is_name = pattern[i] == '%' && (next == 'h' || next == 'p');
        if (!is_name)
            text += pattern[i];
        else
            text += next == 'h' ? std::string(host) : std::to_string(getpid());
        i += is_name ? 1 : 0;
    }
    return text;
}

}  // namespace

DumpOfOthers dump_of_others(const FaultDumpApi& api, const char* (*variable)(const char* name)) {
    DumpOfOthers dump;
    const char* const set = variable(kEnabledVariable);
    dump.is_enabled = set != nullptr ? strcmp(set, "1") == 0 : api.get != nullptr && is_enabled(api);
    if (!dump.is_enabled) return dump;
    const std::string path = with_names(file_asked_for(api, variable));
    char here[PATH_MAX];
    if (path.front() == '/')
        dump.path = path;
    else if (getcwd(here, sizeof here) != nullptr)
        dump.path = std::string(here) + "/" + path;
    return dump;
}

FaultDump arm_fault_dump(const FaultDumpApi& api, const std::string& path, bool has_room, AfterDump after,
                         const char* (*variable)(const char* name)) {
    if (api.get == nullptr || api.set == nullptr) return FaultDump::not_known;
    if (is_asked_for(variable) || is_enabled(api)) return FaultDump::asked_for_already;
    if (path.size() >= kLongestPath) return FaultDump::path_too_long;
    if (!has_room) return FaultDump::no_room;
    // The last call arms the dump.
    const bool is_armed = set_path(api, CU_COREDUMP_FILE, path) && set_contents(api, after) &&
                          set(api, CU_COREDUMP_ENABLE_ON_EXCEPTION, true);
    return is_armed ? FaultDump::armed : FaultDump::refused;
}

bool arm_dump_on_request(const FaultDumpApi& api, const std::string& pipe) {
    return pipe.size() < kLongestPath && set_path(api, CU_COREDUMP_PIPE, pipe) &&
           set(api, CU_COREDUMP_ENABLE_USER_TRIGGER, true);
}

bool open_no_more_pipes(const FaultDumpApi& api) {
    return api.set != nullptr && set(api, CU_COREDUMP_ENABLE_USER_TRIGGER, false);
}

}  // namespace aoti_dbg
