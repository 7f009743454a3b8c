#include "cli/diff/recording.hpp"

#include <filesystem>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/show/find_recorded.hpp"

namespace aoti_dbg::cli {

namespace fs = std::filesystem;

namespace {

/// Returns the events.jsonl that a recording with saved tensors alone lacks, or an empty path.
std::string missing_events(const std::string& place) {
    std::error_code ignored;
    for (const fs::path& folder : {fs::path(place), fs::path(place) / "latest"})
        if (fs::exists(folder / "tensors" / "index.jsonl", ignored))
            return (folder / "events.jsonl").string();
    return {};
}

}  // namespace

std::unique_ptr<Recording> Recording::open(const std::string& place) {
    const Result<FoundFile> found = find_recorded(place, Recorded::events);
    if (const std::string events = found.ok() ? "" : missing_events(place); !events.empty())
        return std::make_unique<Recording>(events,
                                           fs::path(events).parent_path() / "tensors" / "index.jsonl");
    if (!found.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", found.status().message().c_str());
        return nullptr;
    }
    if (!found.value().others.empty()) {
        message(Severity::info, "comparing %s. Other event files here: %zu.", found.value().path.c_str(),
                found.value().others.size());
    }
    auto recording = std::make_unique<Recording>(found.value().path);
    return recording->is_readable() ? std::move(recording) : nullptr;
}

Recording::Recording(std::string path, const std::string& index)
    : path_(std::move(path)),
      file_(index.c_str()),
      runs_([this](char* to, std::size_t bytes) { return from_index_.read(to, bytes); }),
      tensors_(path_) {
    from_index_.read_index(index.c_str());
}

Recording::Recording(std::string path)
    : path_(std::move(path)),
      file_(path_.c_str()),
      runs_([this](char* to, std::size_t bytes) { return file_.read(to, bytes); }),
      tensors_(path_) {}

std::optional<compare::RecordedRun> Recording::run(std::uint32_t number, compare::Repetitions& repetitions) {
    constexpr int kMostFurther = 16;
    std::optional<compare::RecordedRun> found;
    int further = 0;
    while (further < kMostFurther) {
        std::optional<compare::RecordedRun> run = runs_.next();
        if (!run) break;
        repetitions.add(*run);
        further += found ? 1 : 0;
        if (run->run == number) found = std::move(run);
    }
    if (found) return found;
    if (is_readable()) error_message(ErrorCode::no_match, "%s has no run %u.", path_.c_str(), number);
    return std::nullopt;
}

bool Recording::conclude() const {
    if (!is_readable()) return false;
    warn_of_gaps(path_.c_str(), runs_.notes());
    if (has_runs()) return true;
    error_message(ErrorCode::nothing_recorded, "%s has no runs. Record the program with --record bits.",
                  path_.c_str());
    return false;
}

bool Recording::is_readable() const {
    if (file_.error() == 0) return true;
    error_message(ErrorCode::unreadable_recording, "cannot read %s: %s.", path_.c_str(),
                  errno_text(file_.error()).c_str());
    return false;
}

}  // namespace aoti_dbg::cli
