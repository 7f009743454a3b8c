// The page of a report below its verdict: named parts of some lines each, in a screen. Knows which parts say
// least of a crash, and nothing of what they say.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/crash_report.hpp"

namespace aoti_dbg {

inline constexpr std::size_t kValue = 14;  // where values begin
inline constexpr std::size_t kValueColumns = kReportColumns - kValue;
inline constexpr std::size_t kValueLines = 4;

/// Clean text in lines of at most `width` characters, cut between words; of a word or a last line that is too
/// long the middle goes.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most);

class ReportPage {
  public:
    /// One value, over as many lines as it takes.
    void add(const char* name, std::string_view value, std::size_t most = kValueLines);
    /// One line each.
    void add_list(const char* name, const std::vector<std::string>& values);
    /// Lines that stay as they are.
    void add_whole(const char* name, const std::vector<std::string>& lines);

    /// In so many lines: each part is shortened to what it keeps, the one first that has most beyond that;
    /// then parts go, those that say least; then what is left is shortened.
    void render(std::size_t most_lines, std::string& out);

  private:
    struct Section {
        std::string name;
        std::vector<std::string> lines;
        bool is_list = false;
        bool is_whole = false;  // somebody will copy it
    };

    [[nodiscard]] std::size_t lines() const;
    /// To what it keeps, or to one line. False where none is longer.
    bool shorten_one(bool to_one_line);
    bool drop_one();
    static void drop_last_line(Section& section);

    std::vector<Section> sections_;
};

}  // namespace aoti_dbg
