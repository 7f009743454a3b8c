// Reads timeline.jsonl (docs/reference/timeline.md): what the devices did, one span for each kernel, copy and
// fill. Its memory does not grow with the file. It accepts any bytes: lines it cannot parse are counted and
// skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/json_line.hpp"
#include "serializer/line_source.hpp"
#include "serializer/timeline_jsonl.hpp"

namespace aoti_dbg {

/// A line of the file.
struct ReadSpan {
    std::uint64_t sequence = 0;  // of the innermost recorded call that submitted it; 0: unknown
    std::string_view kernel;
    std::string_view kind;       // "kernel", "copy" or "set"
    std::uint64_t start_ns = 0;  // Unix time
    std::uint64_t end_ns = 0;
    std::uint32_t device = 0;
    std::uint64_t stream = 0;
    std::uint64_t bytes = 0;  // of a copy or set
};

class TimelineReader {
  public:
    /// If the file is read in several parts, `devices` are those of the parts before.
    explicit TimelineReader(ByteSource source, std::vector<TimelineDevice> devices = {})
        : lines_(std::move(source)), devices_(std::move(devices)) {}

    /// Returns false at the end. The texts are valid until the next call.
    bool next(ReadSpan& span);

    // Of the header, known after the first call of next().
    [[nodiscard]] std::uint64_t pid() const { return pid_; }
    [[nodiscard]] const std::string& source() const { return source_; }
    [[nodiscard]] bool is_newer() const { return is_newer_; }
    /// The devices of the lines so far. They come before the first span.
    [[nodiscard]] const std::vector<TimelineDevice>& devices() const { return devices_; }
    /// Returns null if the file does not describe that device.
    [[nodiscard]] const TimelineDevice* device(std::uint32_t number) const;
    /// Lines that are not JSON, or spans that end before they start. An incomplete last line is one of them.
    [[nodiscard]] std::uint64_t damaged() const { return damaged_; }
    /// Spans that the library could not record; known at the end.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

  private:
    bool read_span(JsonLine::Value root, ReadSpan& span);
    void read_header(JsonLine::Value root);
    void read_device(JsonLine::Value root);

    LineSource lines_;
    JsonLine json_;
    std::vector<TimelineDevice> devices_;
    std::uint64_t pid_ = 0;
    std::string source_;
    bool is_newer_ = false;
    std::uint64_t damaged_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace aoti_dbg
