// Lists of globs with exclusion, as AOTI_DBG_KERNELS takes them: `triton_*,!*_poi_*`.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// A name matches when one of the patterns takes it (or there are only exclusions) and no exclusion does.
/// Their order does not matter. An empty list matches everything.
class NamePatterns {
  public:
    NamePatterns() = default;

    /// Comma-separated, blanks trimmed, empty pieces dropped; `!` in front excludes. Commas inside <> or ()
    /// belong to the pattern where these brackets are balanced.
    static NamePatterns globs(std::string_view text);
    /// PyTorch's own filter: names, nothing in them is special.
    static NamePatterns exact(std::string_view text);
    /// As if both lists had been written as one.
    void append(const NamePatterns& more);

    [[nodiscard]] bool matches_everything() const { return patterns_.empty(); }
    /// A thing may go by several names (what PyTorch prints, what the shim function is called): a pattern
    /// takes it when it takes any. An empty name is none. A pattern also takes the name that it is, letter by
    /// letter but for case, whatever it means as a glob.
    [[nodiscard]] bool match(std::initializer_list<std::string_view> names) const;
    [[nodiscard]] bool match(std::string_view name, std::string_view other = {}) const {
        return match({name, other});
    }

    bool operator==(const NamePatterns&) const = default;

  private:
    struct Pattern {
        std::string text;
        bool excludes = false;
        bool is_glob = true;
        [[nodiscard]] bool takes(std::string_view name) const;
        bool operator==(const Pattern&) const = default;
    };
    std::vector<Pattern> patterns_;
};

}  // namespace aoti_dbg
