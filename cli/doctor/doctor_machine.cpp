// See doctor_machine.hpp. A value that cannot be read counts as absent.
#include "cli/doctor/doctor_machine.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/control_group.hpp"
#include "base/descriptor.hpp"
#include "cli/run/preloadable.hpp"
#include "config/pattern.hpp"
#include "triage/gather/python_packages.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// Drops everything after a `#` in a line.
std::string without_comments(const char* path) {
    std::string text;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        text += line.substr(0, line.find('#')) + " ";
    return text;
}

fs::path existing_part(fs::path path) {
    std::error_code failed;
    while (!fs::exists(path, failed) && path.has_relative_path())
        path = path.parent_path();
    return path;
}

/// Why no file can be created there. Empty if one can.
std::string why_not_writable(const fs::path& folder) {
    const Descriptor file(open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (file.number() >= 0) return {};
    // Some file systems do not support unnamed files.
    const bool is_unknown = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
    if (is_unknown && access(folder.c_str(), W_OK | X_OK) == 0) return {};
    return std::strerror(errno);
}

/// The numbers come from linux/magic.h and from the sources of the file systems.
std::string network_of(const fs::path& folder) {
    struct NetworkSystem {
        std::uint32_t magic;
        const char* name;
    };
    constexpr NetworkSystem kSystems[] = {{0x6969, "NFS"},       {0xFF534D42, "CIFS"},   {0xFE534D42, "SMB"},
                                          {0x517B, "SMB"},       {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"},
                                          {0x5346414F, "AFS"},   {0x00C36400, "Ceph"},   {0x01021997, "9P"},
                                          {0x19830326, "BeeGFS"}};
    struct statfs found {};
    if (statfs(folder.c_str(), &found) != 0) return {};
    const auto magic = static_cast<std::uint32_t>(found.f_type);
    const auto* const system =
        std::find_if(std::begin(kSystems), std::end(kSystems),
                     [magic](const NetworkSystem& each) { return each.magic == magic; });
    return system == std::end(kSystems) ? "" : system->name;
}

std::optional<std::uint64_t> limit_of(decltype(RLIMIT_CORE) resource) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

std::optional<std::uint64_t> number_in_file(const fs::path& path) {
    std::ifstream file(path);
    std::uint64_t number = 0;
    if (!(file >> number)) return std::nullopt;
    return number;
}

// Without a limit, cgroup v1 reports a number near the largest.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60U;

/// Returns the lowest limit of this process's control group and its ancestors.
std::optional<std::uint64_t> memory_limit() {
    std::optional<std::uint64_t> least;
    const auto take = [&least](const fs::path& file) {
        const std::optional<std::uint64_t> limit = number_in_file(file);
        if (limit && *limit < kNoLimit) least = std::min(*limit, least.value_or(kNoLimit));
    };
    for (const ControlGroup& group : memory_control_groups()) {
        const char* const file = group.is_first_version ? "memory.limit_in_bytes" : "memory.max";
        for (fs::path path = group.path.substr(1); path.has_relative_path(); path = path.parent_path())
            take(group.root / path / file);
        take(fs::path(group.root) / file);
    }
    return least;
}

int status_number(const std::string& name) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.rfind(name, 0) == 0) return std::atoi(line.c_str() + name.size());
    return 0;
}

}  // namespace

PythonFacts python_facts() {
    PythonFacts facts;
    const Caller caller = Caller::current();
    for (const char* name : {"python3", "python"})
        if (facts.program.empty()) facts.program = executed_file(name, caller);
    if (facts.program.empty()) return facts;
    for (const auto& [what, version] : packages_of_python({facts.program})) {
        if (what == "torch" && facts.torch.empty()) facts.torch = version;
        if (what == "triton" && facts.triton.empty()) facts.triton = version;
    }
    return facts;
}

InterposerFacts interposer_facts() {
    InterposerFacts facts;
    facts.system_preload = without_comments("/etc/ld.so.preload");
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const std::size_t end = text.find('=');
        if (end != std::string::npos) facts.variables.emplace_back(text.substr(0, end), text.substr(end + 1));
    }
    std::sort(facts.variables.begin(), facts.variables.end());
    return facts;
}

OutputFacts output_facts(const Options& options) {
    OutputFacts facts;
    facts.pattern = options.out;
    facts.max_bytes = options.max_bytes;
    std::error_code failed;
    const fs::path place = existing_part(fs::absolute(expand_pattern(options.out, std::getenv), failed));
    facts.place = place.string();
    facts.refused = why_not_writable(place);
    facts.network = network_of(place);
    struct statvfs system {};
    if (statvfs(place.c_str(), &system) == 0) {
        facts.room = static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
        facts.size = static_cast<std::uint64_t>(system.f_blocks) * system.f_frsize;
    }
    facts.file_limit = limit_of(RLIMIT_FSIZE);
    return facts;
}

LimitFacts limit_facts(const Options& options, bool has_gpu) {
    LimitFacts facts;
    facts.has_gpu = has_gpu;
    facts.staging = options.staging;
    facts.core = limit_of(RLIMIT_CORE);
    facts.locked = limit_of(RLIMIT_MEMLOCK);
    facts.files = limit_of(RLIMIT_NOFILE);
    facts.address_space = limit_of(RLIMIT_AS);
    facts.memory = memory_limit();
    struct statvfs shared {};
    if (statvfs("/dev/shm", &shared) == 0)
        facts.shared_memory = static_cast<std::uint64_t>(shared.f_blocks) * shared.f_frsize;
    facts.seccomp = status_number("Seccomp:");
    facts.no_new_privileges = status_number("NoNewPrivs:") != 0;
    return facts;
}

}  // namespace aoti_dbg::cli
