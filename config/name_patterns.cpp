// Combines the patterns of a list. base/glob matches a single pattern.
#include "config/name_patterns.hpp"

#include <algorithm>

#include "base/glob.hpp"
#include "config/words.hpp"

namespace aoti_dbg {

NamePatterns NamePatterns::globs(std::string_view text) {
    NamePatterns result;
    for (std::string_view piece : split_list(text, Commas::outside_brackets)) {
        const bool excludes = piece.front() == '!';
        if (excludes) piece = trimmed(piece.substr(1));
        if (!piece.empty()) result.patterns_.push_back({std::string(piece), excludes, true});
    }
    return result;
}

NamePatterns NamePatterns::exact(std::string_view text) {
    NamePatterns result;
    for (const std::string_view piece : split_list(text, Commas::outside_brackets))
        result.patterns_.push_back({std::string(piece), false, false});
    return result;
}

void NamePatterns::append(const NamePatterns& more) {
    patterns_.insert(patterns_.end(), more.patterns_.begin(), more.patterns_.end());
}

bool NamePatterns::Pattern::takes(std::string_view name) const {
    if (name.empty()) return false;
    return equal_ignoring_case(text, name) || (is_glob && glob_matches(text, name));
}

bool NamePatterns::match(std::initializer_list<std::string_view> names) const {
    bool only_exclusions = true;
    bool taken = false;
    for (const Pattern& pattern : patterns_) {
        const bool takes = std::any_of(names.begin(), names.end(),
                                       [&pattern](std::string_view name) { return pattern.takes(name); });
        if (takes && pattern.excludes) return false;
        taken = taken || takes;
        only_exclusions = only_exclusions && pattern.excludes;
    }
    return taken || only_exclusions;
}

}  // namespace aoti_dbg
