// Reads events.jsonl (docs/reference/events.md) back into the structs that were rendered, line by line, in
// memory that does not grow with the file. Takes any bytes: what cannot be understood is counted and passed
// over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serializer/event_jsonl.hpp"
#include "serializer/line_source.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// One line of the file.
struct ReadEvent {
    enum class Kind : std::uint8_t { header, model, definition, call, coverage, other };
    Kind kind = Kind::other;
    std::string_view type;  // as the line has it: "call"
    std::string_view line;  // without its newline
    HeaderFacts header;
    ModelFacts model;
    MeasuredCall call;
    std::vector<std::pair<std::string, std::uint64_t>> coverage;
};

/// What was met besides events.
struct ReadNotes {
    std::uint64_t lines = 0;          // with something on them
    std::uint64_t damaged = 0;        // not understood, but for the last
    std::uint64_t first_damaged = 0;  // its number, from 1; 0 without one
    bool is_cut = false;              // the last line is not whole: the writer was killed, or is at it
    bool is_newer = false;            // the header's version is newer than ours
};

class EventReader {
  public:
    explicit EventReader(ByteSource source);
    ~EventReader();
    EventReader(EventReader&&) noexcept;
    EventReader& operator=(EventReader&&) = delete;

    /// False at the end. What the event points to is good until the next call. Facts have numbers
    /// of this process.
    bool next(ReadEvent& event);

    /// Whole after next() has said that the end is there.
    [[nodiscard]] const ReadNotes& notes() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aoti_dbg
