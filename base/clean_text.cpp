#include "base/clean_text.hpp"

#include <algorithm>

namespace aoti_dbg {
namespace {

bool goes_on(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Returns the byte offset of the character with that number.
std::size_t offset_of(std::string_view text, std::size_t character) {
    std::size_t at = 0;
    for (; character > 0; --character)
        at += character_length(text.substr(at));
    return at;
}

}  // namespace

std::size_t character_length(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if (!goes_on(text[i])) return 0;
    }
    // Reject overlong forms, surrogates and values beyond the last code point.
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return length;
}

bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character.front());
    if (character.size() == 1) return first < 0x20 || first == 0x7f;
    return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

std::size_t characters_in(std::string_view text) {
    return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), goes_on));
}

void append_clean(std::string_view text, std::string& out) {
    const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
    if (is_plain) {
        out += text;
        return;
    }
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length == 0) {
            out += kReplacement;
        } else if (is_control(text.substr(0, length))) {
            out += '?';
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
}

std::string clean_text(std::string_view text) {
    std::string clean;
    append_clean(text, clean);
    return clean;
}

std::size_t append_shortened(std::string_view text, std::size_t most, std::string& out) {
    const std::string clean = clean_text(text);
    const std::size_t characters = characters_in(clean);
    if (characters <= most) {
        out += clean;
        return characters;
    }
    // Names of one kind differ at the end, so the end gets the larger half.
    const std::size_t front = most < 2 ? 0 : (most - 2) / 2;
    const std::size_t back = most < 2 ? most : most - 2 - front;
    out.append(clean, 0, offset_of(clean, front));
    if (most >= 2) out += "..";
    out.append(clean, offset_of(clean, characters - back));
    return most;
}

}  // namespace aoti_dbg
