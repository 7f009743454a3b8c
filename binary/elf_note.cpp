// See elf_note.hpp.
#include "binary/elf_note.hpp"

#include "binary/byte_cursor.hpp"

namespace aoti_dbg::elf {
namespace {

/// Owner and contents are padded to this size.
constexpr std::uint64_t kWordBytes = 4;

std::string_view text_of(Bytes bytes, std::size_t position, std::size_t length) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + position, length);
    return text.substr(0, text.find('\0'));
}

}  // namespace

std::optional<std::string_view> note_text(const File& file, std::string_view section,
                                          std::string_view owner) {
    const Bytes notes = file.section(file.find(section)).content;
    ByteCursor cursor(notes);
    const auto take = [&](std::uint64_t bytes) {
        const std::size_t position = cursor.position();
        cursor.skip(bytes);
        if (cursor.has_failed()) return std::string_view();
        cursor.skip((kWordBytes - bytes % kWordBytes) % kWordBytes);
        return text_of(notes, position, bytes);
    };
    while (cursor.left() != 0) {
        const auto owner_bytes = cursor.number<std::uint32_t>();
        const auto text_bytes = cursor.number<std::uint32_t>();
        cursor.skip(sizeof(std::uint32_t));  // the type, which belongs to the owner
        const std::string_view of = take(owner_bytes);
        const std::string_view text = take(text_bytes);
        if (cursor.has_failed()) return std::nullopt;
        if (of == owner) return text;
    }
    return std::nullopt;
}

}  // namespace aoti_dbg::elf
