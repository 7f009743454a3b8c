// A recording that is being compared: its runs, and its saved tensors.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/diff/index_events.hpp"
#include "cli/recorded_file.hpp"
#include "cli/tensor_files.hpp"
#include "compare/repetition.hpp"
#include "compare/run_reader.hpp"

namespace aoti_dbg::cli {

class Recording {
  public:
    /// `place` is an events.jsonl, or an output directory. Prints an error if there is none.
    static std::unique_ptr<Recording> open(const std::string& place);
    explicit Recording(std::string path);
    /// For a recording with saved tensors alone, whose `path` does not exist.
    Recording(std::string path, const std::string& index);

    [[nodiscard]] const std::string& path() const { return path_; }
    compare::RunReader& runs() { return runs_; }
    compare::SavedTensors& tensors() { return tensors_; }
    [[nodiscard]] bool has_runs() const { return runs_.has_runs(); }

    /// Reads on to a run, and some further ones, for `repetitions`. Prints an error if the recording does not
    /// have it.
    std::optional<compare::RecordedRun> run(std::uint32_t number, compare::Repetitions& repetitions);
    /// Prints what is wrong with the file. Returns false if it could not be read, or has no runs.
    [[nodiscard]] bool conclude() const;

  private:
    [[nodiscard]] bool is_readable() const;

    std::string path_;
    RecordedFile file_;
    IndexEvents from_index_;
    compare::RunReader runs_;
    TensorFiles tensors_;
};

}  // namespace aoti_dbg::cli
