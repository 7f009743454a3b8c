// Known findings, as AOTI_DBG_SUPPRESS lists them: `nan in triton_poi_fused_0 - buf4`. An entry has patterns
// for the kernel and the argument, or names a file of such lines. Reads no file itself.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg {

/// The words of AOTI_DBG_CHECK.
inline constexpr std::array<std::string_view, 4> kFindingKinds = {"nan", "inf", "args", "races"};

class Suppressions {
  public:
    /// Adds comma-separated entries. Commas inside <> or () belong to an entry. On an error, describes the
    /// first invalid entry and adds nothing.
    Status add_list(std::string_view text);
    /// Adds one entry per line and ignores comments. Skips invalid entries and returns a text for each ("line
    /// 3: ...").
    std::vector<std::string> add_lines(std::string_view text);

    /// Returns the names of files to read, in the given order.
    [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
    /// Returns the entries that are only a kernel name.
    [[nodiscard]] std::vector<std::string> plain_patterns() const;

    [[nodiscard]] bool empty() const { return entries_.empty() && files_.empty(); }
    /// `kind` is one of kFindingKinds. A kernel has two names, and an empty one is ignored.
    [[nodiscard]] bool match(std::string_view kind, std::string_view kernel, std::string_view symbol,
                             std::string_view argument) const;

    bool operator==(const Suppressions&) const = default;

  private:
    struct Entry {
        std::string kind;  // empty for any
        std::string kernel;
        std::string argument;  // empty for any
        bool operator==(const Entry&) const = default;
    };
    static Result<Entry> read_entry(std::string_view text);

    std::vector<Entry> entries_;
    std::vector<std::string> files_;
};

/// Returns an entry that suppresses exactly this finding. `kind` is one of kFindingKinds.
std::string suppression_for(std::string_view kind, std::string_view kernel, std::string_view argument);

/// Returns a value of AOTI_DBG_SUPPRESS with relative file names placed below `folder`.
std::string anchored_suppressions(std::string_view value, const std::string& folder);

}  // namespace aoti_dbg
