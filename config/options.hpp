// Turns the variables of options.def and the configuration file into one immutable value. It reads only
// through the functions that it receives, and it never fails. An invalid value adds a complaint (one line:
// the value, what is allowed, what is used instead), and the default applies.
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
#include "config/output_format.hpp"
#include "config/suppressions.hpp"
#include "config/window.hpp"

namespace aoti_dbg {

/// What to do for each selected call. PyTorch's levels are names for sets of these.
struct Levels {
    bool names = false;  // level 3: print `[ before_launch: kernel ]`
    bool stats = false;  // level 2
    bool files = false;  // level 1
    [[nodiscard]] bool any() const { return names || stats || files; }
    bool operator==(const Levels&) const = default;
};

enum class Scope { model, all };
enum class Side { both, before, after };
enum class StatsDetail {
    printed,
    hashes,  // printed, and a hash: what `aoti-dbg diff` needs
    indices,
    full,  // all of them
};
enum class OnFinding { report, raise, abort };
enum class OnFault { go_on, raise, abort };
enum class OnHang { report, raise, abort };
/// How the library detects which launches have ended.
enum class Completion { automatic, off, markers, blocking };
enum class OnFull { wait, drop };
enum class PtLayout { runs, torch };
enum class SaveOn { always, finding };
/// Which captured launches stay.
enum class CaptureOn { always, finding, fault };

/// What counts as a finding.
struct Check {
    bool nan = false;
    bool inf = false;
    bool args = false;   // invalid arguments, whatever their contents
    bool races = false;  // unordered calls that access the same memory
    /// Returns whether the check needs to measure the contents of tensors.
    [[nodiscard]] bool values() const { return nan || inf; }
    [[nodiscard]] bool any() const { return values() || args || races; }
    bool operator==(const Check&) const = default;
};

/// Overrides for calls whose names match. Unset members keep the general value.
struct Rule {
    NamePatterns kernels;
    std::optional<Levels> levels;
    std::optional<Window> runs;
    std::optional<Window> calls;
    std::optional<Side> side;
    bool operator==(const Rule&) const = default;
};

/// Selects the processes of a process tree.
struct Processes {
    bool only_main = false;  // the started process without its children
    NamePatterns names;      // of programs and command lines
    bool operator==(const Processes&) const = default;
};

/// The defaults here are those of options.def, which a test checks. So a process that sets no variable parses
/// nothing at its start.
struct Options {
    Levels levels;
    bool level_given = false;  // set by any source, even to 0, or by a rule that raises it
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
    bool captures = false;  // launches, for `aoti-dbg replay`
    CaptureOn capture_on = CaptureOn::always;
    OnFull on_full = OnFull::wait;
    bool sync = false;
    bool timeline = false;
    bool triage = false;
    OnFault on_fault = OnFault::go_on;
    bool keep_dump = false;
    std::uint64_t max_reports = UINT64_MAX;
    std::uint32_t hang = 0;  // seconds without progress inside a call, 0 for no watchdog
    OnHang on_hang = OnHang::report;
    Completion completion = Completion::automatic;
    Scope scope = Scope::model;
    Processes processes;
    NamePatterns tensors;                   // tensors to save
    std::uint64_t max_tensor = UINT64_MAX;  // bytes
    std::uint64_t staging = std::uint64_t{256} << 20U;
    std::uint64_t max_bytes = 20'000'000'000U;  // disk limit of the library, UINT64_MAX for no limit
    std::uint64_t max_files = 1'000'000U;
    std::uint32_t keep_last = 0;  // number of last runs to keep, 0 for the first ones that fit
    bool keep_given = false;      // set by any source, even to the default
    SaveOn save_on = SaveOn::always;
    bool save_on_given = false;  // set by any source, even to the default
    PtLayout pt_layout = PtLayout::runs;
    std::string torch_save_dir;  // for the layout "torch", empty for PyTorch's default
    bool portable_names = false;
    std::uint32_t writers = 0;           // threads, 0 for automatic
    std::string config;                  // configuration file as given, or empty
    std::string out = "aoti_dbg/%t-%p";  // pattern of the output folder, unexpanded
    std::string log = "stderr";          // or "stdout" or a file pattern, unexpanded
    std::uint32_t ring = 4096;           // records per thread, a power of two, 0 for no ring
    bool evidence = true;
    bool ci = false;
    std::string verdict_file;  // empty for none
    bool operator==(const Options&) const = default;

    /// Returns whether blocking calls and every call of a model are recorded, selected or not.
    [[nodiscard]] bool records_all() const { return triage || hang != 0; }

    /// The disk space that a process needs for any record: one thread's ring, the maps and a report.
    [[nodiscard]] std::size_t least_room() const { return std::size_t{ring} * 64 + (std::size_t{2} << 20U); }
    /// The same with a GPU core dump. The largest one seen had 9 MB.
    [[nodiscard]] std::size_t ample_room() const { return least_room() + kDumpRoom; }
    static constexpr std::size_t kDumpRoom = std::size_t{16} << 20U;

    /// Returns whether launches may get completion markers.
    [[nodiscard]] bool may_mark() const {
        return records_all() && (completion == Completion::automatic || completion == Completion::markers);
    }
};

/// Returns the value of a variable or nullptr, like getenv.
using Environment = std::function<const char*(const char* name)>;

/// Where options come from.
struct Sources {
    Environment environment;
    std::vector<std::string> variables;  // names of set variables that start with AOTI_DBG_
    std::function<Result<std::string>(const std::string& path)> read_file;
};

/// Returns the sources of this process. Its read_file() refuses files that are not regular or larger than 1
/// MiB.
Sources process_sources();

/// `aoti-dbg run` sets this to the level to use if no source sets one.
inline constexpr char kDefaultLevelVariable[] = "AOTI_DBG_DEFAULT_LEVEL";

/// Returns why an option contradicts another one, or an empty text.
std::string contradiction_in(const Sources& sources);

/// Reads the configuration file, then the environment. A set variable replaces its option in the file,
/// including in the file's rules. Complaints are whole sentences without prefix, ready for
/// message(Severity::warn, ...).
Options parse_options(const Sources& sources, std::vector<std::string>& complaints);

}  // namespace aoti_dbg
