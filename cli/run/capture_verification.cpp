#include "cli/run/capture_verification.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/replay/missing_inputs.hpp"
#include "cli/replay/replay_results.hpp"
#include "triage/gather/folder_entries.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostListed = 10;
/// These variables request core dumps. A fault in a replay must not overwrite the dump of the program's
/// fault.
constexpr std::array kDumps = {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP",
                               "CUDA_ENABLE_USER_TRIGGERED_COREDUMP"};

void add_folders_in(const fs::path& place, std::vector<fs::path>& folders) {
    for (const fs::directory_entry& entry : entries_of(place)) {
        const std::string name = entry.path().filename().string();
        std::error_code ignored;
        if ((name == "launches" || name.starts_with("launches-")) && !fs::is_empty(entry.path(), ignored))
            folders.push_back(entry.path());
    }
}

/// Returns the folders with captured launches of a run. Each child process has its own folder in the run's.
std::vector<fs::path> folders_of(const std::string& out) {
    std::vector<fs::path> folders;
    add_folders_in(out, folders);
    for (const fs::directory_entry& entry : entries_of(out)) {
        std::error_code ignored;
        if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) add_folders_in(entry.path(), folders);
    }
    std::ranges::sort(folders);
    return folders;
}

/// Returns false for a launch that an earlier run left in this folder.
bool is_since(const std::string& path, std::uint64_t unix_ns) {
    // File times come from a clock that can be some milliseconds behind.
    constexpr std::uint64_t kBehind = 20'000'000;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return false;
    return static_cast<std::uint64_t>(info.st_mtim.tv_sec) * kSecond +
               static_cast<std::uint64_t>(info.st_mtim.tv_nsec) + kBehind >=
           unix_ns;
}

/// Counts launches with the same outcome.
struct Tally {
    std::size_t count = 0;
    std::string names;

    void add(const std::string& name) {
        if (count++ >= kMostListed) return;
        names += (names.empty() ? "" : "; ") + name;
    }
    /// Returns ", 1 different (run 3, call 41, NAME)", or nothing.
    [[nodiscard]] std::string text(const char* what) const {
        if (count == 0) return {};
        const std::string more = count > kMostListed ? "; ..." : "";
        return ", " + std::to_string(count) + " " + what + (names.empty() ? "" : " (" + names + more + ")");
    }
};

class Verification {
  public:
    Verification(std::string out, std::uint64_t since_unix_ns)
        : out_(std::move(out)), since_unix_ns_(since_unix_ns) {}

    /// Fails if nothing can be replayed on this machine.
    Status replay(const fs::path& folder, const std::function<void()>& at_start) {
        Result<std::vector<LaunchFile>> files = launches_of(folder.string());
        if (!files.ok()) {
            reasons_.push_back(files.status().message());
            return {};
        }
        std::erase_if(files.value(),
                      [this](const LaunchFile& file) { return !is_since(file.path, since_unix_ns_); });
        ops_ += std::erase_if(files.value(),
                              [](const LaunchFile& file) { return file.launch.kind == LaunchKind::op; });
        const std::size_t kernels = files.value().size();
        if (std::string missing = remove_without_inputs(files.value()); !missing.empty())
            reasons_.push_back(std::move(missing));
        kernels_ += kernels;
        left_out_ += kernels - files.value().size();
        if (files.value().empty()) return {};
        const Result<std::vector<LaunchResult>> results = replay_results(files.value(), at_start);
        if (!results.ok()) return results.status();
        const std::string name = folder.lexically_relative(out_).string();
        for (const LaunchResult& result : results.value())
            add(result,
                place_of(files.value()[result.launch].launch) + (name == "launches" ? "" : " in " + name));
        left_out_ += files.value().size() - results.value().size();
        return {};
    }

    void print() const {
        if (kernels_ == 0 && ops_ == 0 && reasons_.empty())
            return message(Severity::info,
                           "no launches were captured, so there is nothing to replay. Select launches with "
                           "--capture PATTERN.");
        std::string text = different_.text("different") + failed_.text("failed") +
                           unrecorded_.text("without a recorded result");
        if (left_out_ != 0) text += ", " + std::to_string(left_out_) + " not replayed";
        if (ops_ != 0) text += ", " + counted(ops_, "op") + " skipped";
        message(
            is_as_recorded() ? Severity::info : Severity::warn, "replay of %s: %zu equal%s",
            (kernels_ == 1 ? "1 captured launch" : std::to_string(kernels_) + " captured launches").c_str(),
            equal_, text.c_str());
        for (std::size_t i = 0; i < std::min(reasons_.size(), kMostListed); ++i)
            message(Severity::warn, "not replayed: %s.", reasons_[i].c_str());
    }

  private:
    void add(const LaunchResult& result, const std::string& name) {
        switch (result.outcome) {
            case ReplayOutcome::equal:
                ++equal_;
                break;
            case ReplayOutcome::unrecorded:
                unrecorded_.add(name);
                break;
            case ReplayOutcome::different:
                different_.add(name);
                break;
            case ReplayOutcome::failed:
                failed_.add(name);
                break;
            case ReplayOutcome::trouble:
                ++left_out_;
                reasons_.push_back(name + ": " + result.text);
                break;
        }
    }
    [[nodiscard]] bool is_as_recorded() const { return different_.count + failed_.count + left_out_ == 0; }

    fs::path out_;
    std::uint64_t since_unix_ns_;
    std::size_t kernels_ = 0;
    std::size_t ops_ = 0;
    std::size_t equal_ = 0;
    std::size_t left_out_ = 0;
    Tally different_;
    Tally failed_;
    Tally unrecorded_;
    std::vector<std::string> reasons_;  // of launches that are left out
};

}  // namespace

void verify_captures(const std::string& folder, std::uint64_t since_unix_ns,
                     const std::function<void()>& at_start) {
    try {
        const auto begin = [&at_start] {
            at_start();
            for (const char* name : kDumps)
                unsetenv(name);
        };
        Verification verification(folder, since_unix_ns);
        for (const fs::path& launches : folders_of(folder)) {
            const Status replayed = verification.replay(launches, begin);
            if (replayed.ok()) continue;
            message(Severity::warn, "cannot replay the captured launches: %s.", replayed.message().c_str());
            return;
        }
        verification.print();
    } catch (const std::exception& error) {
        message(Severity::warn, "cannot replay the captured launches: %s.", error.what());
    }
}

}  // namespace aoti_dbg::cli
