// Reads untrusted bytes in sequence. After a read past the end the cursor stays at the end, has_failed() is
// true, and every read returns zeros. A reader can therefore read a whole header and check once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace aoti_dbg {

class ByteCursor {
  public:
    explicit ByteCursor(std::span<const std::byte> bytes, std::size_t position = 0)
        : bytes_(bytes), position_(position) {
        if (position > bytes.size()) fail();
    }

    [[nodiscard]] bool has_failed() const { return failed_; }
    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] std::size_t left() const { return bytes_.size() - position_; }

    template <typename T>
    T number() {
        static_assert(std::is_integral_v<T>);
        if (left() < sizeof(T)) return fail();
        T value;
        std::memcpy(&value, bytes_.data() + position_, sizeof value);
        position_ += sizeof value;
        return value;
    }
    /// Reads a number of up to 8 bytes.
    std::uint64_t number_of(std::size_t bytes) {
        std::uint64_t value = 0;
        if (bytes == 0) return 0;
        if (bytes > sizeof value || left() < bytes) return fail();
        std::memcpy(&value, bytes_.data() + position_, bytes);
        position_ += bytes;
        return value;
    }
    /// Reads seven bits per byte and drops bits beyond 64.
    std::uint64_t uleb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; left() != 0; shift += 7) {
            const auto byte = number<std::uint8_t>();
            if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            if ((byte & 0x80U) == 0) return value;
        }
        return fail();
    }
    std::int64_t sleb() {
        std::uint64_t value = 0;
        unsigned shift = 0;
        while (left() != 0) {
            const auto byte = number<std::uint8_t>();
            if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            if (shift < 64) shift += 7;
            if ((byte & 0x80U) != 0) continue;
            if ((byte & 0x40U) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
            return static_cast<std::int64_t>(value);
        }
        return fail();
    }
    /// Reads up to the next zero byte and skips that byte.
    std::string_view text() {
        const char* const begin = reinterpret_cast<const char*>(bytes_.data()) + position_;
        const std::size_t length = std::string_view(begin, left()).find('\0');
        if (length == std::string_view::npos) return {begin, fail()};
        position_ += length + 1;
        return {begin, length};
    }
    void skip(std::uint64_t bytes) {
        if (left() < bytes) {
            fail();
        } else {
            position_ += bytes;
        }
    }

  private:
    std::uint8_t fail() {
        failed_ = true;
        position_ = bytes_.size();
        return 0;
    }

    std::span<const std::byte> bytes_;
    std::size_t position_;
    bool failed_ = false;
};

}  // namespace aoti_dbg
