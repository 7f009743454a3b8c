// Findings that are known, as AOTI_DBG_SUPPRESS says them: `nan in triton_poi_fused_0 - buf4`, patterns for
// the kernel and the argument, or files of such lines. Reads no file itself.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg {

/// By the words of AOTI_DBG_CHECK.
inline constexpr std::array<std::string_view, 4> kFindingKinds = {"nan", "inf", "args", "races"};

class Suppressions {
  public:
    /// Comma-separated entries; commas inside <> or () belong to one. Says what is wrong with the first wrong
    /// one, and then none is added.
    Status add_list(std::string_view text);
    /// An entry a line, with comments. Returns what is wrong with wrong ones ("line 3: ..."), which are left
    /// out.
    std::vector<std::string> add_lines(std::string_view text);

    /// Names of files to be read, in the order in which they were given.
    [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
    /// Entries of the list that are a kernel's name and nothing else.
    [[nodiscard]] std::vector<std::string> plain_patterns() const;

    [[nodiscard]] bool empty() const { return entries_.empty() && files_.empty(); }
    /// `kind` is one of kFindingKinds. A kernel is known by both of its names; an empty one is none.
    [[nodiscard]] bool match(std::string_view kind, std::string_view kernel, std::string_view symbol,
                             std::string_view argument) const;

    bool operator==(const Suppressions&) const = default;

  private:
    struct Entry {
        std::string kind;  // empty: any
        std::string kernel;
        std::string argument;  // empty: any
        bool operator==(const Entry&) const = default;
    };
    static Result<Entry> read_entry(std::string_view text);

    std::vector<Entry> entries_;
    std::vector<std::string> files_;
};

/// The entry that suppresses this finding and no other; `kind` as above.
std::string suppression_for(std::string_view kind, std::string_view kernel, std::string_view argument);

/// The value of AOTI_DBG_SUPPRESS with relative names of files put behind `folder`.
std::string anchored_suppressions(std::string_view value, const std::string& folder);

}  // namespace aoti_dbg
