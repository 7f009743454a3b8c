// See inlined_calls.hpp and DWARF 5, sections 2.17 and 3.3.8.
#include "binary/inlined_calls.hpp"

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "binary/byte_cursor.hpp"
#include "binary/debug_entries.hpp"

namespace aoti_dbg {
namespace {

/// DW_RLE_*.
enum RangeKind : std::uint8_t {
    kEndOfList = 0,
    kBaseIndex = 1,
    kStartIndexEndIndex = 2,
    kStartIndexLength = 3,
    kOffsetPair = 4,
    kBase = 5,
    kStartEnd = 6,
    kStartLength = 7,
};

using RangeVisitor = std::function<void(std::uint64_t begin, std::uint64_t end)>;

/// The code of a unit's entries.
class Places {
  public:
    Places(const DebugSections& sections, const EntryUnit& unit) : sections_(sections), unit_(unit) {}

    void see_unit(const Entry& entry) {
        address_table_ = entry.address_table.number;
        range_table_ = entry.range_table.number;
        base_ = address(entry.low).value_or(0);
    }

    [[nodiscard]] std::optional<std::uint64_t> address(const EntryValue& value) const {
        if (!value.is_address()) return std::nullopt;
        return value.is_index() ? indexed(value.number) : value.number;
    }

    /// Visits the ranges of an entry.
    void each_range(const Entry& entry, const RangeVisitor& visitor) const {
        const std::optional<std::uint64_t> low = address(entry.low);
        if (entry.ranges.any()) {
            if (unit_.version >= 5) return each_listed(entry.ranges, visitor);
            return each_old(entry.ranges.number, visitor);
        }
        if (!low || !entry.high.any()) return;
        const std::optional<std::uint64_t> high = address(entry.high);
        visitor(*low, high ? *high : *low + entry.high.number);
    }

  private:
    [[nodiscard]] std::uint64_t indexed(std::uint64_t index) const {
        const std::size_t bytes = sections_.addresses.size();
        if (address_table_ > bytes || index > bytes / sizeof(std::uint64_t)) return 0;
        ByteCursor cursor(sections_.addresses, 0);
        cursor.skip(address_table_ + index * sizeof(std::uint64_t));
        return cursor.number<std::uint64_t>();
    }

    [[nodiscard]] std::uint64_t list_at(const EntryValue& ranges) const {
        if (!ranges.is_index()) return ranges.number;
        const std::size_t bytes = sections_.range_lists.size();
        if (range_table_ > bytes || ranges.number > bytes / unit_.offset_bytes) return bytes;
        ByteCursor cursor(sections_.range_lists, 0);
        cursor.skip(range_table_ + ranges.number * unit_.offset_bytes);
        return range_table_ + cursor.number_of(unit_.offset_bytes);
    }

    void each_old(std::uint64_t at, const RangeVisitor& visitor) const {
        ByteCursor cursor(sections_.ranges, 0);
        cursor.skip(at);
        std::uint64_t base = base_;
        while (cursor.left() != 0) {
            const auto begin = cursor.number<std::uint64_t>();
            const auto end = cursor.number<std::uint64_t>();
            if (begin == 0 && end == 0) return;
            if (begin == UINT64_MAX) {
                base = end;
            } else {
                visitor(base + begin, base + end);
            }
        }
    }

    void each_listed(const EntryValue& ranges, const RangeVisitor& visitor) const {
        ByteCursor cursor(sections_.range_lists, 0);
        cursor.skip(list_at(ranges));
        std::uint64_t base = base_;
        while (cursor.left() != 0) {
            const auto kind = cursor.number<std::uint8_t>();
            if (kind == kEndOfList || kind > kStartLength) return;
            if (kind == kBaseIndex || kind == kBase) {
                base = kind == kBase ? cursor.number<std::uint64_t>() : indexed(cursor.uleb());
                continue;
            }
            const bool is_indexed = kind == kStartIndexEndIndex || kind == kStartIndexLength;
            const bool is_pair = kind == kOffsetPair;
            const std::uint64_t first = is_indexed ? indexed(cursor.uleb())
                                        : is_pair  ? base + cursor.uleb()
                                                   : cursor.number<std::uint64_t>();
            const std::uint64_t last = kind == kStartIndexEndIndex ? indexed(cursor.uleb())
                                       : is_pair                   ? base + cursor.uleb()
                                       : kind == kStartEnd         ? cursor.number<std::uint64_t>()
                                                                   : first + cursor.uleb();
            if (!cursor.has_failed()) visitor(first, last);
        }
    }

    const DebugSections& sections_;
    const EntryUnit& unit_;
    std::uint64_t address_table_ = 0;
    std::uint64_t range_table_ = 0;
    std::uint64_t base_ = 0;
};

elf::Bytes content_of(const elf::File& file, std::string_view name) {
    const elf::Section section = file.section(file.find(name));
    const bool is_compressed = (section.flags & std::uint64_t{SHF_COMPRESSED}) != 0;
    return is_compressed ? elf::Bytes() : section.content;
}

/// Finds the function in one unit, then its calls.
class Search {
  public:
    Search(const DebugSections& sections, const EntryUnit& unit, std::uint64_t address)
        : places_(sections, unit), address_(address) {}

    /// Returns false after the last entry of the function.
    bool visit(const Entry& entry) {
        if (entry.depth == 0) {
            places_.see_unit(entry);
            lines_ = entry.lines.number;
        }
        if (is_inside_ && entry.depth <= function_depth_) return false;
        if (!is_inside_) {
            is_inside_ = entry.tag == EntryTag::subprogram && starts_here(entry);
            function_depth_ = entry.depth;
            return true;
        }
        if (is_in_call_ && entry.depth > call_depth_) return true;
        is_in_call_ = entry.tag == EntryTag::inlined_subroutine;
        call_depth_ = entry.depth;
        if (is_in_call_) add(entry);
        return true;
    }

    [[nodiscard]] bool has_found() const { return is_inside_; }
    std::vector<InlinedCall> take() { return std::move(calls_); }

  private:
    [[nodiscard]] bool starts_here(const Entry& entry) const {
        bool is_it = false;
        places_.each_range(entry,
                           [&](std::uint64_t begin, std::uint64_t) { is_it = is_it || begin == address_; });
        return is_it;
    }

    void add(const Entry& entry) {
        if (!entry.call_line.any()) return;
        places_.each_range(entry, [&](std::uint64_t begin, std::uint64_t end) {
            calls_.push_back({begin, end, entry.call_file.number, entry.call_line.number, lines_});
        });
    }

    Places places_;
    std::uint64_t address_;
    std::size_t lines_ = 0;
    bool is_inside_ = false;
    std::size_t function_depth_ = 0;
    bool is_in_call_ = false;
    std::size_t call_depth_ = 0;
    std::vector<InlinedCall> calls_;
};

}  // namespace

std::vector<InlinedCall> inlined_calls(const elf::File& file, std::uint64_t address) {
    const DebugSections sections{content_of(file, ".debug_info"), content_of(file, ".debug_abbrev"),
                                 content_of(file, ".debug_addr"), content_of(file, ".debug_ranges"),
                                 content_of(file, ".debug_rnglists")};
    for (std::size_t at = 0; at < sections.entries.size();) {
        const EntryUnit unit = read_entry_unit(sections, at);
        Search search(sections, unit, address);
        each_entry(sections, unit, [&search](const Entry& entry) { return search.visit(entry); });
        if (search.has_found()) return search.take();
        at = unit.end;
    }
    return {};
}

}  // namespace aoti_dbg
