#include "cli/diff/diff.hpp"

#include <memory>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/diff/diff_json.hpp"
#include "cli/diff/diff_text.hpp"
#include "cli/diff/saved_elements.hpp"
#include "cli/print.hpp"
#include "cli/recorded_file.hpp"
#include "cli/show/find_recorded.hpp"
#include "compare/comparison.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr int kEqual = 0;
constexpr int kDifferent = 1;
constexpr int kTrouble = 2;

/// An events.jsonl that is being read.
class Recording {
  public:
    /// Prints an error if there is no such file.
    static std::unique_ptr<Recording> open(const std::string& place) {
        const Result<FoundFile> found = find_recorded(place, Recorded::events);
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

    explicit Recording(std::string path)
        : path_(std::move(path)),
          file_(path_.c_str()),
          runs_([this](char* to, std::size_t bytes) { return file_.read(to, bytes); }) {}

    [[nodiscard]] const std::string& path() const { return path_; }
    compare::RunReader& runs() { return runs_; }
    [[nodiscard]] bool has_runs() const { return runs_.has_runs(); }

    /// Reads on to a run. Prints an error if the recording does not have it.
    std::optional<compare::RecordedRun> run(std::uint32_t number) {
        while (std::optional<compare::RecordedRun> run = runs_.next())
            if (run->run == number) return run;
        if (is_readable()) error_message(ErrorCode::no_match, "%s has no run %u.", path_.c_str(), number);
        return std::nullopt;
    }

    /// Prints what is wrong with the file. Returns false if it could not be read.
    [[nodiscard]] bool conclude() const {
        if (!is_readable()) return false;
        warn_of_gaps(path_.c_str(), runs_.notes());
        return true;
    }

  private:
    [[nodiscard]] bool is_readable() const {
        if (file_.error() == 0) return true;
        error_message(ErrorCode::unreadable_recording, "cannot read %s: %s.", path_.c_str(),
                      errno_text(file_.error()).c_str());
        return false;
    }

    std::string path_;
    RecordedFile file_;
    compare::RunReader runs_;
};

std::optional<compare::Comparison> compare_all(Recording& first, Recording& second) {
    compare::Comparison comparison = compare::compare_recordings(first.runs(), second.runs());
    if (!first.conclude() || !second.conclude()) return std::nullopt;
    for (const Recording* recording : {&first, &second}) {
        if (recording->has_runs()) continue;
        error_message(ErrorCode::nothing_recorded, "%s has no runs. Record both programs with --record bits.",
                      recording->path().c_str());
        return std::nullopt;
    }
    return comparison;
}

std::optional<compare::Comparison> compare_pair(Recording& first, Recording& second, const RunPair& pair) {
    const std::optional<compare::RecordedRun> one = first.run(pair.first);
    const std::optional<compare::RecordedRun> other = one ? second.run(pair.second) : std::nullopt;
    if (!other) return std::nullopt;
    if (one->model_name != other->model_name) {
        error_message(ErrorCode::no_match, "run %u is of model %s, and run %u is of model %s.", pair.first,
                      one->model_name.c_str(), pair.second, other->model_name.c_str());
        return std::nullopt;
    }
    compare::Comparison comparison;
    compare::add_runs(*one, *other, comparison);
    return comparison;
}

bool has_evidence(const compare::Comparison& comparison) {
    return comparison.is_different() || comparison.equal + comparison.not_seen != 0;
}

}  // namespace

int diff(const DiffRequest& request) {
    const std::unique_ptr<Recording> first = Recording::open(request.first);
    const std::unique_ptr<Recording> second = first == nullptr ? nullptr : Recording::open(request.second);
    if (second == nullptr) return kTrouble;
    std::optional<compare::Comparison> comparison =
        request.runs ? compare_pair(*first, *second, *request.runs) : compare_all(*first, *second);
    if (!comparison) return kTrouble;
    if (!has_evidence(*comparison)) {
        error_message(ErrorCode::nothing_recorded,
                      "%s and %s have no measured calls to compare. Record both with --record bits.",
                      first->path().c_str(), second->path().c_str());
        return kTrouble;
    }
    add_saved_elements(first->path(), second->path(), *comparison);
    const int printed = print(request.is_json ? diff_json(*comparison) : diff_text(*comparison));
    if (printed != 0) return kTrouble;
    return comparison->is_different() ? kDifferent : kEqual;
}

}  // namespace aoti_dbg::cli
