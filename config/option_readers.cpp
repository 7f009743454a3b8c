// See option_readers.hpp.
#include "config/option_readers.hpp"

#include <algorithm>
#include <charconv>

#include "config/pattern.hpp"

namespace aoti_dbg::option_values {

Fault unknown_word(std::string_view word, const std::vector<std::string_view>& known) {
    return {{}, std::string(nearest_word(lower_case(word), known)), {}};
}

std::optional<std::uint64_t> decimal(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    if (read.ptr != end || text.empty()) return std::nullopt;
    // A number beyond 64 bits is valid and counts as the largest.
    if (read.ec == std::errc::result_out_of_range) return UINT64_MAX;
    if (read.ec != std::errc()) return std::nullopt;
    return number;
}

Taken take_switch(const Texts& texts, bool& choice) {
    return take_word(texts, {{"on", true}, {"off", false}, {"1", true}, {"0", false}}, choice);
}

Taken take_capped(const Texts& texts, std::string_view word, std::uint32_t most, std::uint32_t& number) {
    const std::string_view text = only_text(texts);
    const bool is_word = equal_ignoring_case(text, word);
    const std::optional<std::uint64_t> given = is_word ? std::nullopt : decimal(text);
    if (!is_word && (!given || *given == 0)) return Fault{};
    number = static_cast<std::uint32_t>(std::min<std::uint64_t>(given.value_or(0), most));
    if (given.value_or(0) <= most) return std::nullopt;
    return Fault{{}, {}, "Using the maximum, " + std::to_string(most)};
}

Taken take_text(const Texts& texts, std::string& place) {
    if (texts.size() != 1) return Fault{};
    place = texts.front();
    return std::nullopt;
}

Taken take_pattern(const Texts& texts, std::string& pattern) {
    std::string why = texts.size() == 1 ? pattern_fault(texts.front()) : std::string();
    return why.empty() ? take_text(texts, pattern) : Fault{std::move(why), {}, {}};
}

}  // namespace aoti_dbg::option_values
