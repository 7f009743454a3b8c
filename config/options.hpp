// What the person asked for: the variables of options.def and the configuration file turned into one
// immutable value. Pure: it reads through functions it is given, touches nothing, and never fails; a wrong
// value becomes a complaint (one line: the value, what is allowed, what was taken instead) and the default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "config/name_patterns.hpp"
#include "config/suppressions.hpp"
#include "config/window.hpp"

namespace aoti_dbg {

/// What is done for each selected call. PyTorch's levels are names for sets of these.
struct Levels {
    bool names = false;  // level 3: print `[ before_launch: kernel ]`
    bool stats = false;  // level 2
    bool files = false;  // level 1
    [[nodiscard]] bool any() const { return names || stats || files; }
    bool operator==(const Levels&) const = default;
};

enum class Scope { model, all };
enum class Side { both, before, after };
enum class OutputFormat { text, compact, jsonl };
enum class StatsDetail { printed, indices, full };  // each with what is before it
enum class OnFinding { report, raise, abort };
enum class OnFault { go_on, raise, abort };
enum class OnHang { report, raise, abort };
/// By what is known which launches have ended.
enum class Completion { automatic, off, markers, blocking };
enum class OnFull { wait, drop };
enum class PtLayout { runs, torch };
enum class SaveOn { always, finding };

/// What counts as a finding.
struct Check {
    bool nan = false;
    bool inf = false;
    bool args = false;   // arguments that are wrong, whatever they hold
    bool races = false;  // calls that touch the same memory, and that nothing orders
    /// Whether what tensors hold has to be measured for it.
    [[nodiscard]] bool values() const { return nan || inf; }
    [[nodiscard]] bool any() const { return values() || args || races; }
    bool operator==(const Check&) const = default;
};

/// What differs for the calls whose names match; what is not set is as for all.
struct Rule {
    NamePatterns kernels;
    std::optional<Levels> levels;
    std::optional<Window> runs;
    std::optional<Window> calls;
    std::optional<Side> side;
    bool operator==(const Rule&) const = default;
};

/// Which processes of a tree take part.
struct Processes {
    bool only_main = false;  // the one that was started, none of its children
    NamePatterns names;      // of programs and command lines
    bool operator==(const Processes&) const = default;
};

struct Options {
    Levels levels;
    bool level_given = false;  // by anybody, be it 0, or by a rule that raises it
    NamePatterns kernels;
    Window runs;
    Window calls;
    Side side = Side::both;
    std::vector<Rule> rules;
    std::optional<Check> check;  // unset: nan for calls at level 2, args in triage
    OnFinding on_finding = OnFinding::report;
    Suppressions suppress;
    OutputFormat format = OutputFormat::text;
    StatsDetail stats = StatsDetail::printed;
    bool reuse = true;
    OnFull on_full = OnFull::wait;
    bool sync = false;
    bool triage = false;
    OnFault on_fault = OnFault::go_on;
    bool keep_dump = false;
    std::uint64_t max_reports = UINT64_MAX;
    std::uint32_t hang = 0;  // seconds without a step inside a call; 0: nobody watches
    OnHang on_hang = OnHang::report;
    Completion completion = Completion::automatic;
    Scope scope = Scope::model;
    Processes processes;
    NamePatterns tensors;                   // that are saved
    std::uint64_t max_tensor = UINT64_MAX;  // bytes
    std::uint64_t staging = std::uint64_t{256} << 20U;
    std::uint64_t max_bytes = 20'000'000'000U;  // that the library may write; UINT64_MAX: as many as fit
    std::uint64_t max_files = 1'000'000U;
    std::uint32_t keep_last = 0;  // runs whose tensors are kept; 0: the first, until there is no room
    SaveOn save_on = SaveOn::always;
    PtLayout pt_layout = PtLayout::runs;
    std::string torch_save_dir;  // of the layout "torch"; empty: as PyTorch has it
    bool portable_names = false;
    std::uint32_t writers = 0;  // threads; 0: as many as do well here
    std::string config;         // the configuration file, as given; empty: none
    std::string out;            // pattern of the output folder, unexpanded
    std::string log;            // "stderr", "stdout" or a file's pattern, unexpanded
    std::uint32_t ring = 4096;  // records a thread in the flight ring, a power of two; 0: no ring
    bool evidence = true;
    bool ci = false;
    std::string verdict_file;  // empty: none
    bool operator==(const Options&) const = default;

    /// Whether calls that wait are on record, and every call of a model, selected or not.
    [[nodiscard]] bool records_all() const { return triage || hang != 0; }

    /// Bytes on disk without which a process has no record: one thread's ring and the maps, and a report.
    [[nodiscard]] std::size_t least_room() const { return std::size_t{ring} * 64 + (std::size_t{2} << 20U); }
    /// The same with a core dump of the GPU, of which 9 MB were seen.
    [[nodiscard]] std::size_t ample_room() const { return least_room() + kDumpRoom; }
    static constexpr std::size_t kDumpRoom = std::size_t{16} << 20U;

    /// Whether launches may get completion markers.
    [[nodiscard]] bool may_mark() const {
        return records_all() && (completion == Completion::automatic || completion == Completion::markers);
    }
};

/// The value of a variable, or nullptr. `getenv` does.
using Environment = std::function<const char*(const char* name)>;

/// Where options come from.
struct Sources {
    Environment environment;
    std::vector<std::string> variables;  // names of those that are set and begin with AOTI_DBG_
    std::function<Result<std::string>(const std::string& path)> read_file;
};

/// Those of this process. A file that is not a regular one, or larger than 1 MiB, is refused.
Sources process_sources();

/// Set by `aoti-dbg run`: the level where nobody gives one.
inline constexpr char kDefaultLevelVariable[] = "AOTI_DBG_DEFAULT_LEVEL";

/// The configuration file first, then the environment, which wins: a variable that is set replaces its option
/// in the file, in the file's rules as well. Complaints are whole sentences without prefix, ready for
/// message(Severity::warn, ...).
Options parse_options(const Sources& sources, std::vector<std::string>& complaints);

}  // namespace aoti_dbg
