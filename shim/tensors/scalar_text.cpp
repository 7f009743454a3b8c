#include "shim/tensors/scalar_text.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace aoti_dbg {
namespace {

/// Reads up to `size` bytes, but stops at a page boundary if the next page is not mapped. It uses a system
/// call because the op may never read the string, so the pointer can be invalid.
std::size_t read_bytes(const char* from, char* to, std::size_t size) {
    constexpr std::uintptr_t kPage = 4096;
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const std::size_t in_page = std::min<std::size_t>(size, kPage - address % kPage);
    const iovec local{to, size};
    const iovec remote[] = {{const_cast<char*>(from), in_page},
                            {const_cast<char*>(from + in_page), size - in_page}};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, remote, in_page < size ? 2 : 1, 0);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
}

/// Escapes one character for use between quotes. The result has at most four characters.
std::string_view escaped(char character, char (&place)[4]) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(character);
    if (code >= 0x20 && code < 0x7f && character != '"' && character != '\\') {
        place[0] = character;
        return {place, 1};
    }
    place[0] = '\\';
    place[1] = character;
    if (character == '\n') place[1] = 'n';
    if (character == '"' || character == '\\' || character == '\n') return {place, 2};
    place[1] = 'x';
    place[2] = kDigits[code / 16];
    place[3] = kDigits[code % 16];
    return {place, 4};
}

}  // namespace

ShortText::ShortText(std::string_view text) {
    const bool fits = text.size() <= kMost;
    append(text.substr(0, fits ? kMost : kMost - kCut.size()));
    if (!fits) append(kCut);
}

void ShortText::append(std::string_view text) {
    const std::size_t size = std::min(text.size(), room());
    memcpy(text_ + length_, text.data(), size);
    length_ = static_cast<std::uint8_t>(length_ + size);
}

ShortText ShortText::integer(std::int64_t value) {
    ShortText text;
    text.length_ =
        static_cast<std::uint8_t>(std::to_chars(text.text_, text.text_ + kMost, value).ptr - text.text_);
    return text;
}

ShortText ShortText::unsigned_integer(std::uint64_t value) {
    ShortText text;
    text.length_ =
        static_cast<std::uint8_t>(std::to_chars(text.text_, text.text_ + kMost, value).ptr - text.text_);
    return text;
}

ShortText ShortText::real(double value) {
    ShortText text;
    // This matches a C++ stream in any locale.
    const auto end = std::to_chars(text.text_, text.text_ + kMost, value, std::chars_format::general, 6);
    text.length_ = static_cast<std::uint8_t>(end.ptr - text.text_);
    return text;
}

template <typename Integer>
ShortText ShortText::list(const Integer* values, std::size_t count) {
    ShortText text;
    text.append("[");
    for (std::size_t i = 0; i < count; ++i) {
        const ShortText number = integer(values[i]);
        const std::string_view comma = i == 0 ? "" : ", ";
        // Keep room for the marker that says that more follows.
        if (text.room() < comma.size() + number.length_ + sizeof ", ...]") {
            text.append(comma);
            text.append(kCut);
            break;
        }
        text.append(comma);
        text.append(number.view());
    }
    text.append("]");
    return text;
}
template ShortText ShortText::list(const std::int32_t* values, std::size_t count);
template ShortText ShortText::list(const std::int64_t* values, std::size_t count);

ShortText ShortText::quoted(std::string_view bytes, bool is_whole) {
    ShortText text;
    text.append("\"");
    for (const char byte : bytes) {
        char place[4];
        const std::string_view next = escaped(byte, place);
        if (text.room() < next.size() + 1 + kCut.size()) {
            is_whole = false;
            break;
        }
        text.append(next);
    }
    text.append("\"");
    if (!is_whole) text.append(kCut);
    return text;
}

std::optional<ShortText> ShortText::string_at(const char* from) {
    if (from == nullptr) return std::nullopt;
    char bytes[kMost];
    const std::string_view read(bytes, read_bytes(from, bytes, sizeof bytes));
    if (read.empty()) return std::nullopt;
    const std::size_t end = read.find('\0');
    return quoted(read.substr(0, end), end != std::string_view::npos);
}

ShortText text_of(const ScalarValue& value) {
    if (const auto* const text = std::get_if<ShortText>(&value)) return *text;
    if (const auto* const real = std::get_if<double>(&value)) return ShortText::real(*real);
    if (const auto* const number = std::get_if<std::uint64_t>(&value))
        return ShortText::unsigned_integer(*number);
    return ShortText::integer(std::get<std::int64_t>(value));
}

}  // namespace aoti_dbg
