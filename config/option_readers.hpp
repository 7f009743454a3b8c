// Declares the function that reads the value of each option, and what these functions share. They must not
// throw, use the locale or touch the process. Only option_values*.cpp include this.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option_values.hpp"
#include "config/words.hpp"

namespace aoti_dbg::option_values {

// take_<field>() of each option.
#define AOTI_DBG_OPTION(field, ...) Taken take_##field(const Texts& texts, Options& options);
#include "config/options.def"
#undef AOTI_DBG_OPTION

/// Returns the text of a value that must have one, or an empty text.
inline std::string_view only_text(const Texts& texts) {
    return texts.size() == 1 ? texts.front() : std::string_view();
}

Fault unknown_word(std::string_view word, const std::vector<std::string_view>& known);

std::optional<std::uint64_t> decimal(std::string_view text);

/// Parses an option that accepts one of a few words.
template <typename Choice>
Taken take_word(const Texts& texts, std::initializer_list<std::pair<std::string_view, Choice>> words,
                Choice& choice) {
    const std::string_view given = only_text(texts);
    std::vector<std::string_view> known;
    for (const auto& [word, meaning] : words) {
        if (equal_ignoring_case(given, word)) {
            choice = meaning;
            return std::nullopt;
        }
        known.push_back(word);
    }
    return unknown_word(given, known);
}

Taken take_switch(const Texts& texts, bool& choice);

/// Parses a number from 1 to `most`, or a word that means 0. A larger number counts as `most`.
Taken take_capped(const Texts& texts, std::string_view word, std::uint32_t most, std::uint32_t& number);

/// Parses a file name. Any text is valid.
Taken take_text(const Texts& texts, std::string& place);

/// Parses a file name with % patterns.
Taken take_pattern(const Texts& texts, std::string& pattern);

}  // namespace aoti_dbg::option_values
