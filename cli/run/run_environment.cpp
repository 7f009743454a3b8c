// See run_environment.hpp. Paths become absolute, because a program may change its directory before it starts
// others, and all of them must write to one directory.
#include "cli/run/run_environment.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/message.hpp"
#include "config/options.hpp"
#include "config/pattern.hpp"
#include "config/words.hpp"
#include "serializer/tally_format.hpp"
#include "triage/gather/installation.hpp"
#include "triage/gather/shared_descriptor.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the library as an LD_PRELOAD entry, in which blanks and colons separate and `$` begins a token.
std::optional<std::string> preload_entry(const std::string& library) {
    if (library.find_first_of(": $") == std::string::npos) return library;
    // The descriptor stays open, so the path is valid while this process lives, which outlives the program.
    const int descriptor = open(library.c_str(), O_RDONLY | O_CLOEXEC);
    return descriptor < 0 ? std::nullopt : path_for_others(descriptor);
}

constexpr const char* kSanitizers[] = {"libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"};

/// Returns LD_PRELOAD with the library before the present entries. A sanitizer's run-time library requires
/// the first place and keeps it.
std::string with_preload(std::string_view present, const std::string& library) {
    std::string sanitizers;
    std::string others;
    while (!present.empty()) {
        const std::size_t end = present.find_first_of(": ");
        const std::string entry(present.substr(0, end));
        present = end == std::string_view::npos ? std::string_view() : present.substr(end + 1);
        if (entry.empty() || entry == library) continue;
        const std::string file = fs::path(entry).filename().string();
        const bool sanitizer = std::any_of(std::begin(kSanitizers), std::end(kSanitizers),
                                           [&file](const char* begin) { return file.rfind(begin, 0) == 0; });
        if (sanitizer) {
            sanitizers += entry + ":";
        } else {
            others += ":" + entry;
        }
    }
    return sanitizers + library + others;
}

bool set_preload() {
    const std::optional<std::string> library = find_library();
    if (!library) {
        error_message(
            ErrorCode::library_not_preloadable,
            "cannot find libaoti_dbg.so. The program was not started. Put the library beside aoti-dbg or in "
            "../lib from there.");
        return false;
    }
    const std::optional<std::string> entry = preload_entry(*library);
    if (!entry) {
        error_message(ErrorCode::library_not_preloadable,
                      "cannot preload %s: its path has a space, a colon or a dollar sign, and /proc is not "
                      "mounted. The program was not started. Mount /proc, or install aoti-dbg below a path "
                      "without these characters.",
                      library->c_str());
        return false;
    }
    const char* const present = std::getenv("LD_PRELOAD");
    setenv("LD_PRELOAD", with_preload(present == nullptr ? "" : present, *entry).c_str(), 1);
    return true;
}

/// The command prints these complaints, because the library does not see the original values: this function
/// and anchor_places() replace them.
void warn_of_wrong_places(const Options& options, const std::vector<std::string>& complaints) {
    for (const std::string& complaint : complaints) {
        const bool is_log = complaint.starts_with("AOTI_DBG_LOG:");
        if (!is_log && !complaint.starts_with("AOTI_DBG_OUT:")) continue;
        message(Severity::warn, "%s", complaint.c_str());
        if (is_log) setenv("AOTI_DBG_LOG", options.log.c_str(), 1);
    }
}

/// Sets variables for what the options say, from a file or by default, because the environment overrides
/// both.
void anchor_places(const Options& options) {
    std::error_code failed;
    const std::string here = fs::current_path(failed).string();
    setenv("AOTI_DBG_OUT", anchored_pattern(options.out, here, std::getenv).c_str(), 1);
    if (!is_stream(options.log)) {
        setenv("AOTI_DBG_LOG", anchored_pattern(options.log, here, std::getenv).c_str(), 1);
    }
    if (!options.config.empty()) {
        setenv("AOTI_DBG_CONFIG", (fs::path(here) / options.config).c_str(), 1);
    }
    if (const std::string entries = value_of("AOTI_DBG_SUPPRESS"); !entries.empty()) {
        setenv("AOTI_DBG_SUPPRESS", anchored_suppressions(entries, here).c_str(), 1);
    }
}

}  // namespace

std::string folder_of(pid_t start, std::int64_t start_unix_ns) {
    std::string pattern = value_of("AOTI_DBG_OUT");
    while (pattern.size() > 1 && pattern.back() == '/')
        pattern.pop_back();
    return expand_pattern(pattern, std::getenv, Origin{start, start_unix_ns / 1000000000});
}

std::string value_of(const char* variable) {
    const char* const value = std::getenv(variable);
    return std::string(trimmed(value == nullptr ? "" : value));
}

bool is_stream(const std::string& log) {
    return equal_ignoring_case(log, "stderr") || equal_ignoring_case(log, "stdout");
}

std::optional<Options> set_environment(const RunRequest& request, bool preload, const std::string& tally) {
    if (preload && !set_preload()) return std::nullopt;
    for (const auto& [variable, value] : request.variables)
        setenv(variable.c_str(), value.c_str(), 1);
    // A user who starts `run` expects output.
    setenv(kDefaultLevelVariable, "3", 1);
    std::vector<std::string> complaints;
    Options options = parse_options(process_sources(), complaints);
    // Triage and the hang watchdog record every call without a level. A user who wants names printed sets
    // one.
    if (options.records_all() && !options.level_given && is_stream(options.log)) {
        setenv(kDefaultLevelVariable, "0", 1);
        complaints.clear();
        options = parse_options(process_sources(), complaints);
    }
    warn_of_wrong_places(options, complaints);
    anchor_places(options);
    // The driver's own blocking mode is the simplest and misses no launch, whatever its origin.
    if (options.records_all() && options.completion == Completion::blocking)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    if (!tally.empty()) setenv(tally::kVariable, tally.c_str(), 1);
    return options;
}

}  // namespace aoti_dbg::cli
