// See doctor_trials.hpp.
#include "cli/doctor/doctor_trials.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "cli/doctor/doctor_child.hpp"
#include "cli/run/run_environment.hpp"
#include "config/words.hpp"
#include "triage/gather/awaited_child.hpp"
#include "triage/gather/gather.hpp"
#include "triage/gather/installation.hpp"
#include "triage/gather/machine_facts.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/tally_page.hpp"
#include "triage/judge/verdict.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;
using Milliseconds = std::chrono::milliseconds;

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::error_code failed;
        std::string name = (fs::temp_directory_path(failed) / "aoti-dbg-doctor-XXXXXX").string();
        if (!failed && mkdtemp(name.data()) != nullptr) path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    /// Empty if there is none.
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Removes the user's options for the library from the environment, and restores them on destruction.
class NeutralEnvironment {
  public:
    NeutralEnvironment() {
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
            kept_.emplace_back(*entry);
        for (const std::string& entry : kept_)
            if (entry.rfind("AOTI_", 0) == 0 || entry.rfind("AOT_INDUCTOR_", 0) == 0)
                unsetenv(entry.substr(0, entry.find('=')).c_str());
    }
    ~NeutralEnvironment() {
        clearenv();
        for (const std::string& entry : kept_)
            if (const std::size_t end = entry.find('='); end != std::string::npos)
                setenv(entry.substr(0, end).c_str(), entry.c_str() + end + 1, 1);
    }
    NeutralEnvironment(const NeutralEnvironment&) = delete;
    NeutralEnvironment& operator=(const NeutralEnvironment&) = delete;

  private:
    std::vector<std::string> kept_;
};

std::vector<std::string> child_arguments(const char* trial) {
    return {"doctor", "--child", trial};
}

/// Returns the library's warnings and errors without their prefixes, "aoti-dbg[1:1] warn: " and
/// "aoti-dbg[1:1] error AD4001: ".
std::vector<std::string> warnings_in(std::string_view err) {
    std::vector<std::string> warnings;
    while (!err.empty()) {
        const std::size_t end = std::min(err.find('\n'), err.size());
        const std::string_view line = err.substr(0, end);
        err.remove_prefix(std::min(end + 1, err.size()));
        if (line.rfind("aoti-dbg[", 0) != 0) continue;
        const std::size_t severity = line.find("] ");
        const std::size_t colon = line.find(": ");
        if (severity == std::string_view::npos || colon == std::string_view::npos) continue;
        const std::string_view word = line.substr(severity + 2);
        if (word.starts_with("warn: ") || word.starts_with("error AD"))
            warnings.push_back(printable(line.substr(colon + 2), 300));
    }
    return warnings;
}

/// Finds a line such as "ERROR: ld.so: object '...' from LD_PRELOAD cannot be preloaded (...): ignored."
std::string loader_line(std::string_view err) {
    const std::size_t at = err.find("ERROR: ld.so: ");
    if (at == std::string_view::npos) return {};
    return printable(err.substr(at, err.find('\n', at) - at), 300);
}

bool is_same_file(const std::string& one, const std::string& other) {
    std::error_code failed;
    return !one.empty() && !other.empty() && fs::equivalent(one, other, failed);
}

/// Whether a launch of that kernel is in one of the flight rings.
bool is_recorded(const std::vector<ring::Contents>& rings, std::string_view kernel) {
    return std::any_of(rings.begin(), rings.end(), [kernel](const ring::Contents& ring) {
        const std::vector<ring::Call> calls = ring::merged_calls(ring);
        return std::any_of(calls.begin(), calls.end(), [&ring, kernel](const ring::Call& call) {
            return ring.name(call.record->name) == kernel;
        });
    });
}

std::vector<ring::Contents> rings_below(const std::string& folder) {
    std::vector<ring::Contents> rings;
    for (const RecordedProcess& process : recorded_processes(folder, 0))
        if (Result<ring::Contents> ring = ring::read_flight_ring(process.ring); ring.ok())
            rings.push_back(std::move(ring.value()));
    return rings;
}

std::string kernel_of(const std::string& door) {
    if (door == kDlsymDoor) return kDlsymKernel;
    return door == kEntryPointDoor ? kEntryPointKernel : kLinkedKernel;
}

/// Returns the time of the child's launch, as the child printed it.
std::optional<std::int64_t> launch_time(std::string_view answers) {
    constexpr std::string_view kBegin = "launch 0 ";
    const std::size_t at = answers.find(kBegin);
    if (at == std::string_view::npos) return std::nullopt;
    std::int64_t time = 0;
    const char* const begin = answers.data() + at + kBegin.size();
    return std::from_chars(begin, answers.data() + answers.size(), time).ec == std::errc()
               ? std::optional(time)
               : std::nullopt;
}

void measure_dump(const std::string& folder, std::string_view answers, FaultFacts& facts) {
    struct stat found {};
    const std::optional<std::int64_t> begin = launch_time(answers);
    if (!begin || stat((folder + "/gpu.core").c_str(), &found) != 0) return;
    const std::int64_t end = found.st_mtim.tv_sec * INT64_C(1000000000) + found.st_mtim.tv_nsec;
    facts.dump_bytes = static_cast<std::uint64_t>(found.st_size);
    // File times come from a clock with a resolution of a few milliseconds.
    facts.dump_seconds = std::max(0.0, static_cast<double>(end - *begin) / 1e9);
}

}  // namespace

DriverFacts try_driver(Milliseconds deadline) {
    DriverFacts facts;
    facts.package = driver_version();
    if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"))
        facts.visible = printable(visible, 80);
    const ChildEnd end = run_child(child_arguments("driver"), deadline);
    facts.trouble = trouble_of(end, deadline);
    read_driver(end.out, facts);
    return facts;
}

std::pair<LibraryFacts, DoorFacts> try_library(const DriverFacts& driver, Milliseconds deadline) {
    LibraryFacts library;
    DoorFacts doors;
    library.own_version = AOTI_DBG_VERSION;
    library.path = find_library().value_or("");
    doors.has_gpu = driver.has_gpu();
    if (library.path.empty()) return {library, doors};
    library.version = library_version(library.path);
    const TemporaryFolder folder;
    if (folder.path().empty()) {
        library.trouble = "could not be started: cannot create a temporary directory (check TMPDIR)";
        return {library, doors};
    }
    const TallyPage tally;
    const NeutralEnvironment environment;
    RunRequest request;
    request.variables = {{"AOTI_DBG_LEVEL", "3"},
                         {"AOTI_DBG_SCOPE", "all"},
                         {"AOTI_DBG_OUT", folder.path() + "/out"},
                         {"AOTI_DBG_LOG", folder.path() + "/log"}};
    if (!set_environment(request, true, tally.path())) return {library, doors};
    const ChildEnd end = run_child(child_arguments(doors.has_gpu ? "doors" : "library"), deadline);
    doors.trouble = trouble_of(end, deadline);
    library.loader = loader_line(end.err);
    if (library.version.empty()) library.version = tally.library_version();
    read_doors(end.out, doors);
    // Without this line, the child failed under the library alone, before it reached the driver.
    if (doors.dlsym_of.empty()) library.trouble = doors.trouble;
    doors.is_dlsym_ours = is_same_file(doors.dlsym_of, library.path);
    const std::optional<Seen> seen = tally.seen();
    library.is_loaded = doors.is_library_loaded = seen ? seen->loaded > 0 : doors.is_dlsym_ours;
    doors.warnings = warnings_in(end.err);
    const std::vector<ring::Contents> rings = rings_below(folder.path() + "/out");
    for (Door& door : doors.doors)
        door.is_seen = is_recorded(rings, kernel_of(door.name));
    return {library, doors};
}

FaultFacts try_fault(const DriverFacts& driver, Milliseconds deadline) {
    FaultFacts facts;
    facts.has_gpu = driver.has_gpu();
    if (!facts.has_gpu) return facts;
    const TemporaryFolder folder;
    if (folder.path().empty()) {
        facts.stopped = "cannot create a temporary directory (check TMPDIR)";
        return facts;
    }
    const NeutralEnvironment environment;
    const TallyPage tally;
    EndedRun run;
    run.folder = folder.path() + "/out";
    run.command = child_arguments("fault");
    run.command.insert(run.command.begin(), "aoti-dbg");
    run.start_unix_ns = static_cast<std::uint64_t>(tally.start_unix_ns());
    RunRequest request;
    request.variables = {{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_OUT", run.folder}};
    if (!set_environment(request, true, tally.path())) {
        facts.stopped = "libaoti_dbg.so was not found";
        return facts;
    }
    const ChildEnd end = run_child(child_arguments("fault"), deadline);
    facts.trouble = trouble_of(end, deadline);
    facts.warnings = warnings_in(end.err);
    read_fault(end.out, facts);
    run.pid = end.pid;
    run.status = end.status;
    const Evidence evidence = gather(run);
    const Verdict verdict = judge(evidence);
    facts.has_verdict = verdict.is_worth_reporting;
    facts.verdict = verdict.headline;
    facts.kind = word_of(verdict.kind);
    if (evidence.device) facts.kernel = evidence.device->kernel;
    if (evidence.by_markers && evidence.faulted) facts.kernel = evidence.faulted->name;
    measure_dump(run.folder, end.out, facts);
    return facts;
}

}  // namespace aoti_dbg::cli
