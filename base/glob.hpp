// Shell patterns on names: `*` any text, `?` one character, `[abc]`, `[a-z]`, `[!a-z]` one of a set. Letters
// match in either case, as in PyTorch's own filter.
#pragma once

#include <string_view>

namespace aoti_dbg {

/// Whether the whole of `text` matches. A `[` without its `]` stands for itself. Time is at most
/// pattern times text, whatever they hold; nothing is allocated.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace aoti_dbg
