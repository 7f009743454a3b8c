// See hang_facts.hpp.
#include "triage/gather/hang_facts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>

#include "base/descriptor.hpp"
#include "base/unix_time.hpp"
#include "triage/gather/caller_names.hpp"

namespace aoti_dbg {
namespace {

// A signal to a healthy program may catch it inside a call, but hardly one that takes a second.
constexpr std::uint64_t kShortestStall = 1'000'000'000;
constexpr std::size_t kLargestFile = std::size_t{1} << 24U;

std::string text_of(const std::string& path) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat found {};
    if (file.number() < 0 || fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
    std::string text(std::min(static_cast<std::size_t>(found.st_size), kLargestFile), '\0');
    const ssize_t got = pread(file.number(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

/// True if a launch that no call waits for ended after the file was written.
bool is_over(const RecordedProcess& process, const Hang& hang) {
    if (!hang.calls.front().is_without_wait) return false;
    const Result<ring::Contents> ring = ring::read_flight_ring(process.ring);
    return ring.ok() && aoti_dbg::is_over(ring.value(), hang.calls.front());
}

/// Returns the hang that the library recorded.
std::optional<Hang> recorded_hang(const RecordedProcess& process) {
    const std::string text = text_of(hang_path(process.ring));
    if (text.empty()) return std::nullopt;
    Result<Hang> hang = read_hang(text);
    if (!hang.ok() || hang.value().pid != process.pid || hang.value().time_ns < process.start_unix_ns)
        return std::nullopt;
    if (!hang.value().is_recorded && is_over(process, hang.value())) return std::nullopt;
    return std::move(hang.value());
}

/// Returns the calls that were open at that time, and had been for long.
std::optional<Hang> seen_hang(const RecordedProcess& process, std::uint64_t unix_ns) {
    const Result<ring::Contents> ring = ring::read_flight_ring(process.ring);
    if (!ring.ok()) return std::nullopt;
    Hang hang;
    hang.pid = process.pid;
    hang.time_ns = unix_ns;
    // If the main thread ended the process, calls of other threads do not matter.
    hang.calls = open_calls(ring.value(), unix_ns, process.ended ? process.pid : 0);
    hang.calls.erase(
        std::remove_if(hang.calls.begin(), hang.calls.end(),
                       [](const StuckCall& stuck) { return stuck.nanoseconds < kShortestStall; }),
        hang.calls.end());
    if (hang.calls.empty()) return std::nullopt;
    conclude_hang(ring.value(), hang);
    return hang;
}

std::optional<Hang> hang_of(const RecordedProcess& process, const EndedRun& run) {
    std::optional<Hang> recorded = recorded_hang(process);
    // After the driver's dump ended a hang, the program may exit in any way.
    if (recorded && (recorded->is_recorded || may_be_hang(run))) return recorded;
    if (!may_be_hang(run)) return std::nullopt;
    if (run.has_status) return run.stopped_by != 0 ? seen_hang(process, run.stopped_unix_ns) : std::nullopt;
    return process.is_running ? seen_hang(process, unix_nanoseconds()) : std::nullopt;
}

}  // namespace

const RecordedProcess* longest_hang(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                    Evidence& evidence) {
    const RecordedProcess* longest = nullptr;
    std::size_t count = 0;
    for (const RecordedProcess& process : processes) {
        std::optional<Hang> hang = hang_of(process, run);
        if (!hang) continue;
        ++count;
        if (evidence.hang && evidence.hang->calls.front().nanoseconds >= hang->calls.front().nanoseconds)
            continue;
        evidence.hang = std::move(hang);
        longest = &process;
    }
    if (evidence.hang)
        for (StuckCall& stuck : evidence.hang->calls)
            name_callers(stuck.place.callers);
    if (count > 1)
        evidence.notes.push_back(std::to_string(count) +
                                 " processes are stalled; this one has been for the longest time");
    return longest;
}

std::string recorded_hang_text(const RecordedProcess& process) {
    const std::optional<Hang> hang = recorded_hang(process);
    if (!hang || !hang->is_recorded) return {};
    const StuckCall& first = hang->calls.front();
    return call_text(first.call) + stalled_text(first);
}

}  // namespace aoti_dbg
