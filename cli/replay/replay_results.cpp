// Children write their results to a file in memory, which this process reads when they have ended.
#include "cli/replay/replay_results.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"

namespace aoti_dbg::cli {
namespace {

/// A launch that takes longer ends the child, because the program has ended and its user waits.
constexpr unsigned kMostSeconds = 60;

/// Its text follows it.
struct Entry {
    std::uint32_t launch = 0;
    ReplayOutcome outcome = ReplayOutcome::equal;
    std::uint64_t bytes = 0;
};

bool append(int file, const LaunchResult& result) {
    const Entry entry{result.launch, result.outcome, result.text.size()};
    std::string bytes(reinterpret_cast<const char*>(&entry), sizeof entry);
    bytes += result.text;
    return write_fully(file, bytes.data(), bytes.size()) == 0;
}

/// A child that a signal ended can leave half of an entry.
std::vector<LaunchResult> parsed(std::string_view bytes) {
    std::vector<LaunchResult> results;
    while (bytes.size() >= sizeof(Entry)) {
        Entry entry;
        std::memcpy(&entry, bytes.data(), sizeof entry);
        bytes.remove_prefix(sizeof entry);
        if (entry.bytes > bytes.size()) break;
        results.push_back({entry.launch, entry.outcome, std::string(bytes.substr(0, entry.bytes))});
        bytes.remove_prefix(entry.bytes);
    }
    return results;
}

std::string contents_of(int file) {
    std::string bytes;
    char piece[4096];
    for (ssize_t got = 0;;) {
        got = pread(file, piece, sizeof piece, static_cast<off_t>(bytes.size()));
        if (got <= 0) return bytes;
        bytes.append(piece, static_cast<std::size_t>(got));
    }
}

}  // namespace

Result<std::vector<LaunchResult>> replay_results(const std::vector<LaunchFile>& files,
                                                 const std::function<void()>& at_start) {
    const Descriptor file(memfd_create("replays", MFD_CLOEXEC));
    if (file.number() < 0) return Status::error("cannot create a file in memory: " + errno_text(errno));
    const ReplayReport report = [&file](const LaunchResult& result) {
        alarm(kMostSeconds);
        return append(file.number(), result);
    };
    const auto at_child_start = [&at_start] {
        if (at_start) at_start();
        std::signal(SIGALRM, SIG_DFL);
        alarm(kMostSeconds);
    };
    const Result<int> code = replay_in_children({}, files, {report, {}, at_child_start});
    if (!code.ok()) return code.status();
    std::vector<LaunchResult> results = parsed(contents_of(file.number()));
    if (!results.empty() && results.back().launch >= files.size()) return Status::error(results.back().text);
    return results;
}

}  // namespace aoti_dbg::cli
