// Lists of globs with exclusions, as in AOTI_DBG_KERNELS: `triton_*,!*_poi_*`.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// Matches a name if no exclusion matches it and either a pattern does or there are only exclusions. The
/// order does not matter. An empty list matches everything.
class NamePatterns {
  public:
    NamePatterns() = default;

    /// Splits at commas, trims blanks and drops empty pieces. A leading `!` excludes. Commas inside balanced
    /// <> or () belong to the pattern.
    static NamePatterns globs(std::string_view text);
    /// Parses PyTorch's own filter: plain names without special characters.
    static NamePatterns exact(std::string_view text);
    /// Merges the other list into this one.
    void append(const NamePatterns& more);

    [[nodiscard]] bool matches_everything() const { return patterns_.empty(); }
    /// Matches a thing that has several names, such as PyTorch's name and the shim function. A pattern
    /// matches if it matches any of them. Empty names are ignored. A pattern also matches a name that equals
    /// its text, ignoring case, whatever it means as a glob.
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
