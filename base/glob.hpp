// Shell patterns for names. `*` matches any text, `?` one character, and `[abc]`, `[a-z]` or `[!a-z]` one
// character of a set. Matching ignores case, as in PyTorch's own filter.
#pragma once

#include <string_view>

namespace aoti_dbg {

/// Returns whether the pattern matches all of `text`. A `[` without its `]` is a literal. The time is at most
/// the product of both lengths. Nothing is allocated.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace aoti_dbg
