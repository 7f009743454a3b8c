// What a person types on the command line: suggestions for words that are nearly right, exit code for the
// rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg::cli {

/// The exit code for a command line that is wrong; `run` has its own.
inline constexpr int kWrongUsage = 2;

/// `; did you mean "word"?` for the nearest of `words`, dashes and case aside; empty where none is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words);

}  // namespace aoti_dbg::cli
