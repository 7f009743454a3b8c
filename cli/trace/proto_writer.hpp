// Appends protobuf fields to a string. A nested message is written in place: its length takes four bytes,
// which begin() reserves and end() fills, so nothing is copied. It must know nothing of any message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace aoti_dbg::cli::proto {

/// The largest nested message. Four bytes of seven bits hold its length.
inline constexpr std::size_t kLongestMessage = (std::size_t{1} << 28U) - 1;

/// Writes at most kLongestVarint bytes to `at` and returns their end.
inline char* put_varint(std::uint64_t value, char* at) {
    for (; value >= 0x80; value >>= 7U)
        *at++ = static_cast<char>((value & 0x7FU) | 0x80U);
    *at++ = static_cast<char>(value);
    return at;
}

inline char* put_tag(std::uint32_t field, std::uint32_t wire_type, char* at) {
    return put_varint(std::uint64_t{field} << 3U | wire_type, at);
}

inline constexpr std::size_t kLongestVarint = 10;
inline constexpr std::size_t kLongestTag = 5;
inline constexpr std::size_t kLengthBytes = 4;

/// Small fields that are appended together, because each append costs time.
class Fields {
  public:
    static constexpr std::size_t kMost = 8;

    void number(std::uint32_t field, std::uint64_t value) {
        end_ = put_varint(value, put_tag(field, 0, end_));
    }
    /// Starts a nested message. Returns its place in the fields.
    std::size_t begin(std::uint32_t field) {
        end_ = put_tag(field, 2, end_);
        std::memset(end_, 0, kLengthBytes);
        end_ += kLengthBytes;
        return static_cast<std::size_t>(end_ - bytes_);
    }
    void append_to(std::string& out) const { out.append(bytes_, static_cast<std::size_t>(end_ - bytes_)); }

  private:
    char bytes_[kMost * (kLongestTag + kLongestVarint)];
    char* end_ = bytes_;
};

inline void append_varint(std::uint64_t value, std::string& out) {
    char bytes[kLongestVarint];
    out.append(bytes, static_cast<std::size_t>(put_varint(value, bytes) - bytes));
}

inline void append_tag(std::uint32_t field, std::uint32_t wire_type, std::string& out) {
    append_varint(std::uint64_t{field} << 3U | wire_type, out);
}

/// Appends an unsigned or enumerated value, or a boolean.
inline void append_number(std::uint32_t field, std::uint64_t value, std::string& out) {
    Fields fields;
    fields.number(field, value);
    fields.append_to(out);
}

/// Appends a value of type fixed64.
inline void append_fixed64(std::uint32_t field, std::uint64_t value, std::string& out) {
    append_tag(field, 1, out);
    char bytes[sizeof value];
    for (char& byte : bytes) {
        byte = static_cast<char>(value);
        value >>= 8U;
    }
    out.append(bytes, sizeof bytes);
}

inline void append_double(std::uint32_t field, double value, std::string& out) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    append_fixed64(field, bits, out);
}

/// Appends a string, bytes, or a message that is already serialized.
inline void append_text(std::uint32_t field, std::string_view text, std::string& out) {
    append_tag(field, 2, out);
    append_varint(text.size(), out);
    out.append(text);
}

/// Starts a nested message or a string. Returns the place that end() needs.
[[nodiscard]] inline std::size_t begin(std::uint32_t field, std::string& out) {
    Fields fields;
    fields.begin(field);
    fields.append_to(out);
    return out.size();
}

/// Ends what begin() started. Its contents must not be longer than kLongestMessage.
inline void end(std::size_t place, std::string& out) {
    std::size_t length = out.size() - place;
    char* const to = out.data() + place - kLengthBytes;
    for (std::size_t i = 0; i < kLengthBytes; ++i, length >>= 7U)
        to[i] = static_cast<char>((length & 0x7FU) | (i + 1 < kLengthBytes ? 0x80U : 0U));
}

}  // namespace aoti_dbg::cli::proto
