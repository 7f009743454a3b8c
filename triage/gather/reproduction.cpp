// See reproduction.hpp.
#include "triage/gather/reproduction.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "config/options_table.hpp"
#include "triage/gather/installation.hpp"
#include "triage/gather/machine_facts.hpp"

namespace aoti_dbg {
namespace {

namespace fs = std::filesystem;

// Options for output and its readers, and options that a repeated run sets itself.
constexpr std::string_view kNotRepeated[] = {"--triage",         "--out",         "--log",         "--ci",
                                             "--portable-names", "--max-reports", "--verdict-file"};

bool is_repeated(std::string_view flag) {
    return !flag.empty() &&
           std::find(std::begin(kNotRepeated), std::end(kNotRepeated), flag) == std::end(kNotRepeated);
}

/// Returns an empty text if a shell finds it by name.
std::string own_place() {
    const std::string own = own_program();
    std::error_code failed;
    const fs::path found = found_on_path("aoti-dbg");
    return !found.empty() && fs::equivalent(found, own, failed) ? std::string() : own;
}

std::string working_folder() {
    std::error_code failed;
    const fs::path folder = fs::current_path(failed);
    return failed ? std::string() : folder.string();
}

/// `variables` are those of the program's start, from relevant_variables().
void add_reproduction(const NamedTexts& variables, const std::string& folder, Evidence& evidence) {
    evidence.working_folder = folder;
    for (const auto& [name, value] : variables) {
        const auto is_its = [&name = name](const OptionInfo& info) { return info.variable == name; };
        const auto& table = option_table();
        const auto option = std::find_if(table.begin(), table.end(), is_its);
        if (option != table.end() && is_repeated(option->flag) && !value.empty())
            evidence.flags.emplace_back(option->flag, value);
    }
}

}  // namespace

void add_start(const std::vector<RecordedProcess>& processes, const EndedRun& run, Evidence& evidence) {
    const bool is_ours = run.has_status || run.stopped_by != 0;
    const RecordedProcess* const started = last_of(processes, [&run](const RecordedProcess& process) {
        return process.pid == static_cast<std::uint32_t>(run.pid) && process.facts.pid != 0;
    });
    evidence.tool = own_place();
    if (is_ours) evidence.command = run.command;
    if (is_ours && (!run.is_own_request || started == nullptr))
        return add_reproduction(relevant_variables(), working_folder(), evidence);
    if (started == nullptr) return;
    if (!is_ours) evidence.command = started->facts.command;
    add_reproduction(started->facts.variables, started->facts.working_folder, evidence);
}

}  // namespace aoti_dbg
