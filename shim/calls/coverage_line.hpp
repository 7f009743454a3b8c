// The line that says at exit what was intercepted and what was not, and the same counts for events.jsonl. It
// is composed without allocating, because a signal handler may run the exit code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/message.hpp"
#include "serializer/event_jsonl.hpp"

namespace aoti_dbg {

/// The session and its parts append to one section at a time. Text for another section is ignored.
class CoverageLine {
  public:
    enum class Section : std::uint8_t { counts, more_counts, losses, files, more_files };
    static constexpr Section kSections[] = {Section::counts, Section::more_counts, Section::losses,
                                            Section::files, Section::more_files};
    void begin(Section section) { section_ = section; }
    /// Call this before each part appends.
    void begin_part() { counts_ = Section::counts; }

    /// Puts the counts that follow behind those of all other parts.
    void count_last() { counts_ = Section::more_counts; }
    /// Appends "<before><number> <one or many>" to the counts. With a name, events.jsonl gets the number,
    /// too.
    void count(const char* before, std::uint64_t number, const char* one, const char* many,
               const char* name = nullptr);
    /// Appends "; <number> <what>" to the counts if the number is not 0.
    void rest(std::uint64_t number, const char* what, const char* name = nullptr);
    /// Appends a text to the counts.
    void text(const char* text);
    /// Counts a number only for events.jsonl.
    void name(const char* name, std::uint64_t number);
    /// Appends "; <number> <one or many>" to the losses if the number is not 0.
    void loss(std::uint64_t number, const char* one, const char* many);
    /// Appends "; <what>: <path>" to the files if the path is not null.
    void file(const char* what, const char* path, Section section = Section::files);
    [[nodiscard]] const char* line() const { return line_; }
    [[nodiscard]] std::span<const NamedCount> named() const { return {named_.data(), named_count_}; }

  private:
    __attribute__((format(printf, 3, 4))) void add(Section section, const char* format, ...);

    Section section_ = Section::counts;
    Section counts_ = Section::counts;  // where the part's counts go
    std::size_t used_ = 0;
    char line_[kMessageCap] = "";
    std::size_t named_count_ = 0;
    std::array<NamedCount, 24> named_{};
};

}  // namespace aoti_dbg
