// See line_unit.hpp, DWARF 5, section 6.2.4, and the same section of DWARF 4 for the older tables.
#include "binary/line_unit.hpp"

#include <array>
#include <optional>
#include <string_view>

#include "binary/byte_cursor.hpp"
#include "binary/dwarf_forms.hpp"

namespace aoti_dbg {
namespace {

using namespace dwarf;

// The contents of a table entry.
constexpr std::uint64_t kPath = 1;
constexpr std::uint64_t kFolder = 2;

struct NameEntry {
    std::string_view path;
    std::uint64_t folder = 0;
};

class Names {
  public:
    Names(const LineSections& sections, const LineUnit& unit)
        : sections_(sections), unit_(unit), cursor_(sections.lines.first(unit.end), unit.names) {}

    std::string path_of(std::uint64_t file) {
        const std::optional<NameEntry> entry = entry_of(Table::files, file);
        if (!entry || entry->path.empty()) return {};
        std::string path(entry->path);
        if (path.front() == '/') return path;
        path = under(entry->folder, path);
        // Directory 0 is the compilation directory, and the others are below it. Up to version 4 it is stored
        // elsewhere.
        if (unit_.version >= 5 && entry->folder != 0 && path.front() != '/') path = under(0, path);
        return path;
    }

  private:
    enum class Table { folders, files };

    std::string under(std::uint64_t folder, const std::string& path) {
        const std::optional<NameEntry> entry = entry_of(Table::folders, folder);
        if (!entry || entry->path.empty()) return path;
        std::string whole(entry->path);
        if (whole.back() != '/') whole += '/';
        return whole + path;
    }

    std::optional<NameEntry> entry_of(Table table, std::uint64_t number) {
        cursor_ = ByteCursor(sections_.lines.first(unit_.end), unit_.names);
        if (unit_.version >= 5) {
            if (table == Table::files) new_entry(std::nullopt);
            return new_entry(number);
        }
        // Numbers start at 1.
        if (table == Table::folders) return number == 0 ? std::nullopt : old_folder(number - 1);
        old_folder(std::nullopt);
        return number == 0 ? std::nullopt : old_file(number - 1);
    }

    /// Without `requested`, it skips the whole table.
    std::optional<NameEntry> old_folder(std::optional<std::uint64_t> requested) {
        for (std::uint64_t i = 0;; ++i) {
            const std::string_view path = cursor_.text();
            if (cursor_.has_failed() || path.empty()) return std::nullopt;
            if (i == requested) return NameEntry{path, 0};
        }
    }

    std::optional<NameEntry> old_file(std::uint64_t requested) {
        for (std::uint64_t i = 0;; ++i) {
            NameEntry entry;
            entry.path = cursor_.text();
            if (cursor_.has_failed() || entry.path.empty()) return std::nullopt;
            entry.folder = cursor_.uleb();
            cursor_.uleb();  // time
            cursor_.uleb();  // size
            if (cursor_.has_failed()) return std::nullopt;
            if (i == requested) return entry;
        }
    }

    std::optional<NameEntry> new_entry(std::optional<std::uint64_t> requested) {
        struct Member {
            std::uint64_t what;
            std::uint64_t form;
        };
        std::array<Member, 255> members{};
        const std::size_t count = cursor_.number<std::uint8_t>();
        for (std::size_t i = 0; i < count; ++i)
            members[i] = {cursor_.uleb(), cursor_.uleb()};
        const std::uint64_t entries = cursor_.uleb();
        if (count == 0) return std::nullopt;
        // Each member takes at least one byte, so the end of the data ends the loop.
        for (std::uint64_t i = 0; i < entries && !cursor_.has_failed(); ++i) {
            NameEntry entry;
            for (std::size_t m = 0; m < count; ++m) {
                if (members[m].what == kPath) {
                    entry.path = text(members[m].form);
                } else if (members[m].what == kFolder) {
                    entry.folder = number(members[m].form);
                } else {
                    number(members[m].form);
                }
            }
            if (i == requested && !cursor_.has_failed()) return entry;
        }
        return std::nullopt;
    }

    std::string_view text(std::uint64_t form) {
        if (form == kString) return cursor_.text();
        const std::size_t at = cursor_.position();
        const std::uint64_t stored = number(form);
        if (form != kStringOffset && form != kLineStringOffset) return {};  // from a table that is not read
        const std::uint64_t offset = sections_.relocations.place_at(at, stored).offset;
        const elf::Bytes strings = form == kStringOffset ? sections_.strings : sections_.line_strings;
        return elf::File::string_at(strings, offset).value_or(std::string_view());
    }

    std::uint64_t number(std::uint64_t form) {
        switch (form) {
            case kData1:
            case kStringIndex1:
                return cursor_.number_of(1);
            case kData2:
            case kStringIndex2:
                return cursor_.number_of(2);
            case kStringIndex3:
                return cursor_.number_of(3);
            case kData4:
            case kStringIndex4:
                return cursor_.number_of(4);
            case kData8:
                return cursor_.number_of(8);
            case kData16:
                cursor_.skip(16);
                return 0;
            case kUnsigned:
            case kSigned:
            case kStringIndex:
                return cursor_.uleb();
            case kString:
                cursor_.text();
                return 0;
            case kStringOffset:
            case kLineStringOffset:
            case kSectionOffset:
            case kStringSupplement:
                return cursor_.number_of(unit_.offset_bytes);
            case kBlock1:
                cursor_.skip(cursor_.number_of(1));
                return 0;
            case kBlock2:
                cursor_.skip(cursor_.number_of(2));
                return 0;
            case kBlock4:
                cursor_.skip(cursor_.number_of(4));
                return 0;
            case kBlock:
                cursor_.skip(cursor_.uleb());
                return 0;
            default:
                // Its length is unknown.
                cursor_.skip(UINT64_MAX);
                return 0;
        }
    }

    const LineSections& sections_;
    const LineUnit& unit_;
    ByteCursor cursor_;
};

}  // namespace

LineUnit read_line_unit(const LineSections& sections, std::size_t offset) {
    constexpr std::uint32_t kWide = 0xffffffff;  // the length follows, and offsets have 64 bits
    LineUnit unit;
    unit.end = sections.lines.size();
    ByteCursor start(sections.lines, offset);
    std::uint64_t bytes = start.number<std::uint32_t>();
    if (bytes == kWide) {
        bytes = start.number<std::uint64_t>();
        unit.offset_bytes = 8;
    }
    const bool is_whole = !start.has_failed() && bytes <= start.left();
    // The available part of a truncated unit is still read.
    if (is_whole) unit.end = start.position() + bytes;

    ByteCursor cursor(sections.lines.first(unit.end), start.position());
    unit.version = cursor.number<std::uint16_t>();
    if (unit.version < 2 || unit.version > 5) return unit;
    if (unit.version >= 5) cursor.skip(2);  // sizes of an address and of a segment selector
    const std::uint64_t head_bytes = cursor.number_of(unit.offset_bytes);
    const std::size_t head = cursor.position();
    unit.instruction_bytes = cursor.number<std::uint8_t>();
    if (unit.version >= 4) unit.operations = cursor.number<std::uint8_t>();
    cursor.skip(1);  // whether rows start as statements
    unit.line_base = cursor.number<std::int8_t>();
    unit.line_range = cursor.number<std::uint8_t>();
    unit.opcode_base = cursor.number<std::uint8_t>();
    if (cursor.has_failed() || unit.line_range == 0 || unit.opcode_base == 0) return unit;
    const std::size_t operands = cursor.position();
    cursor.skip(unit.opcode_base - 1U);
    unit.names = cursor.position();
    if (cursor.has_failed() || head_bytes > unit.end - head || head + head_bytes < unit.names) return unit;
    unit.operands = sections.lines.subspan(operands, unit.opcode_base - 1U);
    unit.program = head + head_bytes;
    unit.is_readable = true;
    return unit;
}

std::string line_file_path(const LineSections& sections, const LineUnit& unit, std::uint64_t file) {
    return unit.is_readable ? Names(sections, unit).path_of(file) : std::string();
}

}  // namespace aoti_dbg
