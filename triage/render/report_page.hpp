// The page of a report below its verdict: named sections with wrapped lines. It must not cut or drop
// anything, and knows nothing of the sections' contents.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

inline constexpr std::size_t kReportColumns = 100;
inline constexpr std::size_t kValue = 17;  // the column where values start
inline constexpr std::size_t kValueColumns = kReportColumns - kValue;

class ReportPage {
  public:
    explicit ReportPage(std::string& out) : out_(out) {}

    /// Adds one value, or nothing if it is empty.
    void add(std::string_view name, std::string_view value);
    /// Starts a line for each value and indents its further lines.
    void add_list(std::string_view name, const std::vector<std::string>& values);
    /// Adds lines for the reader to copy, unchanged.
    void add_whole(std::string_view name, const std::vector<std::string>& lines);
    /// Adds a blank line if a section was added since the last gap.
    void add_gap();

  private:
    std::string& out_;
    bool has_section_ = false;  // since the last gap
};

}  // namespace aoti_dbg
