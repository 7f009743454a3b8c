#include "shim/runtime/process_tree.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/proc_text.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kLongestCommandLine = std::size_t{64} * 1024;
constexpr int kOldestAncestor = 64;  // generations; no process tree is this deep

std::string proc_path(int pid, const char* file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

bool has_the_library(int pid) {
    return has_mapped(pid, "/libaoti_dbg.so");
}

/// Returns field `number` of /proc/<pid>/stat, counted from 1 as in proc(5). The field must come after the
/// name, which can contain anything.
std::int64_t stat_field(int pid, int number) {
    const std::string stat = proc_text(proc_path(pid, "stat"), 4096);
    std::size_t place = stat.rfind(')');
    for (int field = 2; field < number && place != std::string::npos; ++field)
        place = stat.find(' ', place + 1);
    return place == std::string::npos ? -1 : strtoll(stat.c_str() + place + 1, nullptr, 10);
}

/// Returns the start time from /proc. Every process gets the same result, unlike from its own clock.
std::int64_t start_time(int pid) {
    const std::string stat = proc_text("/proc/stat", std::size_t{1024} * 1024);
    const std::size_t boot = stat.find("\nbtime ");
    const std::int64_t ticks = stat_field(pid, 22);
    const long ticks_a_second = sysconf(_SC_CLK_TCK);
    if (boot == std::string::npos || ticks < 0 || ticks_a_second <= 0) {
        return Origin::here_and_now().unix_seconds;
    }
    return strtoll(stat.c_str() + boot + sizeof "\nbtime " - 1, nullptr, 10) + ticks / ticks_a_second;
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string rank_name() {
    const char* const rank = rank_of(::getenv);
    return rank == nullptr ? std::string() : std::string("rank") + rank;
}

/// These programs only start another program and wait for it.
constexpr std::string_view kLaunchers[] = {
    "bash",    "chrt",   "dash", "dumb-init", "env",     "ionice", "ksh",     "nice", "nohup", "numactl",
    "setarch", "setsid", "sh",   "stdbuf",    "taskset", "time",   "timeout", "tini", "zsh"};

bool is_launcher(std::string_view program) {
    return std::find(std::begin(kLaunchers), std::end(kLaunchers), program) != std::end(kLaunchers);
}

/// Compares the name that the process was started by, as for busybox, and its executable, as for scripts.
bool is_launcher(int pid) {
    std::string name = proc_text(proc_path(pid, "comm"), 64);
    if (!name.empty() && name.back() == '\n') name.pop_back();
    if (is_launcher(name)) return true;
    char program[4096];
    const ssize_t length = readlink(proc_path(pid, "exe").c_str(), program, sizeof program);
    return length > 0 && is_launcher(file_name(std::string(program, static_cast<std::size_t>(length))));
}

/// Returns true if a launcher gave this process a rank that the start does not have.
bool has_new_rank(int start) {
    constexpr std::size_t kLargestEnvironment = std::size_t{1} << 20U;
    const char* const rank = rank_of(::getenv);
    if (rank == nullptr) return false;
    const std::string variables = '\0' + proc_text(proc_path(start, "environ"), kLargestEnvironment);
    const char* const of_start = rank_of([&variables](const char* name) -> const char* {
        const std::string mark = '\0' + std::string(name) + '=';
        const std::size_t place = variables.find(mark);
        return place == std::string::npos ? nullptr : variables.c_str() + place + mark.size();
    });
    return of_start == nullptr || strcmp(rank, of_start) != 0;
}

/// Returns true if every process from this one's parent up to `start` is a launcher. Returns false for a
/// rank, because each rank has its own folder.
bool is_behind_launchers(int start) {
    if (has_new_rank(start)) return false;
    int pid = getpid();
    for (int generation = 0; generation < kOldestAncestor; ++generation) {
        pid = static_cast<int>(stat_field(pid, 4));
        if (pid <= 0 || !is_launcher(pid)) return false;
        if (pid == start) return true;
    }
    return false;
}

std::string process_folder_name() {
    constexpr std::size_t kLongest = 64;
    std::string name = rank_name();
    if (!name.empty()) name += '-';
    name += std::string(program_invocation_short_name);
    if (name.size() > kLongest) name.resize(kLongest);
    for (char& letter : name) {
        const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                           (letter >= 'A' && letter <= 'Z') || letter == '.' || letter == '_' ||
                           letter == '-';
        if (!plain) letter = '_';
    }
    return name + "-" + std::to_string(getpid());
}

}  // namespace

std::string command_line() {
    std::string line = proc_text("/proc/self/cmdline", kLongestCommandLine);
    while (!line.empty() && line.back() == '\0')
        line.pop_back();
    for (char& letter : line) {
        if (letter == '\0') letter = ' ';
    }
    return line;
}

bool has_mapped(int pid, const char* file) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    const Descriptor maps(open(path, O_RDONLY | O_CLOEXEC));
    if (maps.number() < 0) return false;
    const std::size_t length = strlen(file);
    char piece[4096];
    std::size_t kept = 0;  // bytes of the previous piece, because the name may cross the border
    bool found = false;
    while (!found) {
        const ssize_t got = read(maps.number(), piece + kept, sizeof piece - kept);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        const std::size_t filled = kept + static_cast<std::size_t>(got);
        found = memmem(piece, filled, file, length) != nullptr;
        kept = std::min(filled, length - 1);
        memmove(piece, piece + filled - kept, kept);
    }
    return found;
}

Origin find_start() {
    if (const std::optional<Origin> tallied = tallied_start()) return *tallied;
    int start = getpid();
    for (int generation = 0; generation < kOldestAncestor; ++generation) {
        const auto parent = static_cast<int>(stat_field(start, 4));
        if (parent <= 0 || !has_the_library(parent)) break;
        start = parent;
    }
    return {start, start_time(start)};
}

bool matches_this_process(const NamePatterns& names) {
    if (names.matches_everything()) return true;
    char executable[4096];
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable);
    const std::string program =
        file_name(std::string(executable, length > 0 ? static_cast<std::size_t>(length) : 0));
    const std::string line = command_line();
    return names.match({program, file_name(program_invocation_name), rank_name(), line});
}

std::string own_folder_name(const Origin& start) {
    const bool is_start = start.pid == getpid();
    if (!is_tallied() ? is_start : (is_start || is_behind_launchers(start.pid)) && claim_out_folder())
        return {};
    return process_folder_name();
}

}  // namespace aoti_dbg
