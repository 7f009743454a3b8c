// The page of a report below its verdict: named sections whose lines wrap. It cuts and drops nothing, and
// does not know what the sections say.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

inline constexpr std::size_t kReportColumns = 100;
inline constexpr std::size_t kValue = 17;  // the column where values start
inline constexpr std::size_t kValueColumns = kReportColumns - kValue;

/// Clean text in lines of at most `width` characters, broken at blanks. A longer word stays whole on a line
/// of its own, so that a name can be copied and searched.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

class ReportPage {
  public:
    explicit ReportPage(std::string& out) : out_(out) {}

    /// One value. Adds nothing if it is empty.
    void add(std::string_view name, std::string_view value);
    /// Each value starts a line; its further lines are indented.
    void add_list(std::string_view name, const std::vector<std::string>& values);
    /// Lines that the reader copies: they stay as they are.
    void add_whole(std::string_view name, const std::vector<std::string>& lines);
    /// A blank line, if a section was added since the last gap.
    void add_gap();

  private:
    std::string& out_;
    bool has_section_ = false;  // since the last gap
};

}  // namespace aoti_dbg
