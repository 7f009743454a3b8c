// Reads events.jsonl (docs/reference/events.md) back into the structs it was rendered from, line by line. Its
// memory must not grow with the file. It accepts any bytes: lines it cannot parse are counted and skipped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serializer/event_jsonl.hpp"
#include "serializer/json_line.hpp"
#include "serializer/line_source.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// One line of the file.
struct ReadEvent {
    enum class Kind : std::uint8_t { header, model, definition, call, coverage, other };
    Kind kind = Kind::other;
    std::string_view type;  // as in the line: "call"
    std::string_view line;  // without its newline
    HeaderFacts header;
    ModelFacts model;
    MeasuredCall call;
    std::span<const JsonLine::Value> objects;  // of a call: its arguments in the line
    std::vector<std::pair<std::string, std::uint64_t>> coverage;
};

/// What the reader found besides events.
struct ReadNotes {
    std::uint64_t lines = 0;          // non-blank lines
    std::uint64_t damaged = 0;        // lines that could not be parsed, except the last
    std::uint64_t first_damaged = 0;  // number of the first damaged line, from 1; 0: none
    bool is_cut = false;              // the last line is incomplete: the writer was killed or is still
                                      // writing
    bool is_newer = false;            // the header's version is newer than this one
};

/// What to read of the arguments of calls.
enum class ArgumentDetail : std::uint8_t {
    everything,
    facts,  // the members `facts`, `tensor` and `scalar`. Read what else you need from `objects`; it is
            // faster.
};

/// Whether lines are parsed in a thread of their own, which also calls the source.
enum class ReadingThread : std::uint8_t { callers, own };

class EventReader {
  public:
    explicit EventReader(ByteSource source, ArgumentDetail detail = ArgumentDetail::everything,
                         ReadingThread thread = ReadingThread::callers);
    ~EventReader();
    EventReader(EventReader&&) noexcept;
    EventReader& operator=(EventReader&&) = delete;

    /// Returns false at the end. The event's pointers are valid until the next call. Its facts have numbers
    /// of this process.
    bool next(ReadEvent& event);

    /// Complete once next() has returned false.
    [[nodiscard]] const ReadNotes& notes() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aoti_dbg
