#include "shim/record/process_notes.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"
#include "base/message.hpp"
#include "base/proc_text.hpp"
#include "config/pattern.hpp"
#include "config/relevant_variables.hpp"
#include "shim/record/written_bytes.hpp"

namespace aoti_dbg {
namespace {

// A longer command is omitted, because a part of it would be a different command.
constexpr std::size_t kLongestCommand = std::size_t{256} * 1024;

std::vector<std::string> own_command() {
    const std::string text = proc_text("/proc/self/cmdline");
    std::vector<std::string> words;
    // A program that sets its own title fills the rest of its arguments with zeros.
    constexpr std::string_view kFilled("\0\0\0", 3);
    if (text.size() > kLongestCommand || text.find(kFilled) != std::string::npos) return words;
    for (std::string_view rest = text; !rest.empty();)
        words.emplace_back(taken(rest, '\0'));
    return words;
}

/// Returns the variables with their current values. The names are the known ones and those at process start.
/// Walking `environ` is not safe while another thread sets a variable.
std::vector<std::pair<std::string, std::string>> own_variables() {
    const std::string text = proc_text("/proc/self/environ");
    std::vector<std::string> names(relevant_names().begin(), relevant_names().end());
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view entry = taken(rest, '\0');
        const std::string_view name = taken(entry, '=');
        if (is_relevant_variable(name)) names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::vector<std::pair<std::string, std::string>> variables;
    for (const std::string& name : names)
        if (const char* const value = std::getenv(name.c_str()); value != nullptr)
            variables.emplace_back(name, value);
    return variables;
}

/// Uses one write, so that no line is torn.
bool wrote(const std::string& path, int flags, const std::string& line) {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | flags, 0600));
    if (file.number() < 0 || !write_quietly(file.number(), line.data(), line.size())) return false;
    count_written_bytes(static_cast<std::int64_t>(line.size()));
    return true;
}

}  // namespace

ProcessFacts own_process_facts(pid_t pid) {
    ProcessFacts facts;
    facts.pid = static_cast<std::uint32_t>(pid);
    if (const char* const rank = rank_of(std::getenv); rank != nullptr) facts.rank = rank;
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) != nullptr) facts.working_folder = here;
    facts.command = own_command();
    facts.variables = own_variables();
    return facts;
}

ProcessNotes::ProcessNotes(std::string path, const ProcessFacts& facts) : path_(std::move(path)) {
    std::string line;
    append_process_line(facts, line);
    const std::string unfinished = path_ + ".unfinished";
    const bool is_there =
        wrote(unfinished, O_CREAT | O_TRUNC, line) && std::rename(unfinished.c_str(), path_.c_str()) == 0;
    if (is_there) return;
    unlink(unfinished.c_str());
    path_.clear();
}

bool ProcessNotes::is_new(std::uint32_t device) {
    constexpr std::uint32_t kMost = 64;
    if (path_.empty() || device >= kMost) return false;
    const std::uint64_t bit = std::uint64_t{1} << device;
    if ((devices_.load(std::memory_order_relaxed) & bit) != 0) return false;
    return (devices_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

void ProcessNotes::add(const DeviceFacts& device) const {
    std::string line;
    append_device_line(device, line);
    static_cast<void>(wrote(path_, O_APPEND, line));
}

}  // namespace aoti_dbg
