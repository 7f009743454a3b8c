// Reads runs from an events.jsonl. Its memory grows with the largest run, not with the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compare/recorded_run.hpp"
#include "serializer/event_reader.hpp"

namespace aoti_dbg::compare {

class RunReader {
  public:
    explicit RunReader(ByteSource source);
    ~RunReader();
    RunReader(RunReader&&) noexcept;
    RunReader& operator=(RunReader&&) = delete;

    /// Returns the next run that has ended, or nothing at the end of the file. Runs without an end come last.
    std::optional<RecordedRun> next();

    /// The process that recorded. Known when next() has returned.
    [[nodiscard]] const HeaderFacts& header() const;
    /// Whether next() has returned a run.
    [[nodiscard]] bool has_runs() const;
    /// Complete at the end of the file.
    [[nodiscard]] const ReadNotes& notes() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aoti_dbg::compare
