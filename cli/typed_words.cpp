// See typed_words.hpp.
#include "cli/typed_words.hpp"

#include <algorithm>
#include <iterator>

#include "config/words.hpp"

namespace aoti_dbg::cli {

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words) {
    const auto bare = [](std::string_view word) {
        return word.substr(std::min(word.find_first_not_of('-'), word.size()));
    };
    std::vector<std::string_view> bare_words;
    std::transform(words.begin(), words.end(), std::back_inserter(bare_words), bare);
    const std::string_view nearest = nearest_word(lower_case(bare(typed)), bare_words);
    const auto found = std::find(bare_words.begin(), bare_words.end(), nearest);
    if (nearest.empty() || found == bare_words.end()) return {};
    return "; did you mean \"" + words[static_cast<std::size_t>(found - bare_words.begin())] + "\"?";
}

}  // namespace aoti_dbg::cli
