// See debug_entries.hpp and DWARF 5, section 7.5.
#include "binary/debug_entries.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "binary/byte_cursor.hpp"
#include "binary/dwarf_forms.hpp"

namespace aoti_dbg {
namespace {

using namespace dwarf;

/// DW_AT_*.
enum Attribute : std::uint16_t {
    kLines = 0x10,
    kLow = 0x11,
    kHigh = 0x12,
    kRanges = 0x55,
    kCallFile = 0x58,
    kCallLine = 0x59,
    kAddressTable = 0x73,
    kRangeTable = 0x74,
};

struct AbbreviatedAttribute {
    std::uint64_t name;
    std::uint64_t form;
    std::uint64_t constant;  // of kImplicitConstant
};

/// The shape of all entries with one code.
struct Abbreviation {
    std::uint64_t code = 0;
    std::uint64_t tag = 0;
    bool has_children = false;
    std::size_t begin = 0;  // its attributes
    std::size_t end = 0;
};

class Abbreviations {
  public:
    Abbreviations(elf::Bytes section, std::size_t offset) {
        ByteCursor cursor(section, offset);
        while (!cursor.has_failed()) {
            Abbreviation entry;
            entry.code = cursor.uleb();
            if (entry.code == 0) break;
            entry.tag = cursor.uleb();
            entry.has_children = cursor.number<std::uint8_t>() != 0;
            entry.begin = attributes_.size();
            read_attributes(cursor);
            entry.end = attributes_.size();
            all_.push_back(entry);
        }
        std::sort(all_.begin(), all_.end(),
                  [](const Abbreviation& a, const Abbreviation& b) { return a.code < b.code; });
    }

    /// Returns null if the table does not have the code.
    [[nodiscard]] const Abbreviation* find(std::uint64_t code) const {
        // Compilers number them from 1.
        if (code - 1 < all_.size() && all_[code - 1].code == code) return &all_[code - 1];
        const auto found = std::lower_bound(
            all_.begin(), all_.end(), code,
            [](const Abbreviation& entry, std::uint64_t requested) { return entry.code < requested; });
        return found == all_.end() || found->code != code ? nullptr : &*found;
    }
    [[nodiscard]] const AbbreviatedAttribute& attribute(std::size_t i) const { return attributes_[i]; }

  private:
    void read_attributes(ByteCursor& cursor) {
        while (!cursor.has_failed()) {
            AbbreviatedAttribute attribute{cursor.uleb(), cursor.uleb(), 0};
            if (attribute.form == kImplicitConstant)
                attribute.constant = static_cast<std::uint64_t>(cursor.sleb());
            if (attribute.name == 0 && attribute.form == 0) return;
            attributes_.push_back(attribute);
        }
    }

    std::vector<Abbreviation> all_;
    std::vector<AbbreviatedAttribute> attributes_;
};

/// Returns the bytes of a form with a fixed size.
std::optional<std::size_t> fixed_bytes(std::uint64_t form, const EntryUnit& unit) {
    switch (form) {
        case kFlagPresent:
        case kImplicitConstant:
            return 0;
        case kData1:
        case kFlag:
        case kReference1:
        case kStringIndex1:
        case kAddressIndex1:
            return 1;
        case kData2:
        case kReference2:
        case kStringIndex2:
        case kAddressIndex2:
            return 2;
        case kStringIndex3:
        case kAddressIndex3:
            return 3;
        case kData4:
        case kReference4:
        case kReferenceSupplement4:
        case kStringIndex4:
        case kAddressIndex4:
            return 4;
        case kData8:
        case kReference8:
        case kReferenceSignature:
        case kReferenceSupplement8:
            return 8;
        case kAddress:
            return unit.address_bytes;
        case kReferenceAddress:
            return unit.version < 3 ? unit.address_bytes : unit.offset_bytes;
        case kStringOffset:
        case kSectionOffset:
        case kStringSupplement:
        case kLineStringOffset:
            return unit.offset_bytes;
        default:
            return std::nullopt;
    }
}

/// Reads the value of a form without a fixed size.
std::uint64_t read_variable(std::uint64_t form, ByteCursor& cursor) {
    switch (form) {
        case kSigned:
            return static_cast<std::uint64_t>(cursor.sleb());
        case kUnsigned:
        case kReference:
        case kStringIndex:
        case kAddressIndex:
        case kLocationListIndex:
        case kRangeListIndex:
            return cursor.uleb();
        case kString:
            cursor.text();
            return 0;
        case kBlock1:
            cursor.skip(cursor.number_of(1));
            return 0;
        case kBlock2:
            cursor.skip(cursor.number_of(2));
            return 0;
        case kBlock4:
            cursor.skip(cursor.number_of(4));
            return 0;
        case kBlock:
        case kExpression:
            cursor.skip(cursor.uleb());
            return 0;
        case kData16:
            cursor.skip(16);
            return 0;
        default:
            // Its length is unknown.
            cursor.skip(UINT64_MAX);
            return 0;
    }
}

EntryValue read_value(const AbbreviatedAttribute& attribute, const EntryUnit& unit, ByteCursor& cursor) {
    std::uint64_t form = attribute.form;
    if (form == kIndirect) form = cursor.uleb();
    if (form == kImplicitConstant) return {form, attribute.constant};
    if (const std::optional<std::size_t> bytes = fixed_bytes(form, unit))
        return {form, cursor.number_of(*bytes)};
    return {form, read_variable(form, cursor)};
}

/// Returns where `entry` keeps the attribute, or null if it does not.
EntryValue* place_of(std::uint64_t name, Entry& entry) {
    switch (name) {
        case kLines:
            return &entry.lines;
        case kLow:
            return &entry.low;
        case kHigh:
            return &entry.high;
        case kRanges:
            return &entry.ranges;
        case kCallFile:
            return &entry.call_file;
        case kCallLine:
            return &entry.call_line;
        case kAddressTable:
            return &entry.address_table;
        case kRangeTable:
            return &entry.range_table;
        default:
            return nullptr;
    }
}

}  // namespace

bool EntryValue::is_address() const {
    return form == kAddress || (is_index() && form != kRangeListIndex);
}

bool EntryValue::is_index() const {
    return form == kAddressIndex || form == kRangeListIndex ||
           (form >= kAddressIndex1 && form <= kAddressIndex4);
}

EntryUnit read_entry_unit(const DebugSections& sections, std::size_t offset) {
    constexpr std::uint32_t kWide = 0xffffffff;  // the length follows, and offsets have 64 bits
    constexpr unsigned kCompileUnit = 1;         // DW_UT_compile
    EntryUnit unit;
    unit.end = sections.entries.size();
    ByteCursor cursor(sections.entries, offset);
    std::uint64_t bytes = cursor.number<std::uint32_t>();
    if (bytes == kWide) {
        bytes = cursor.number<std::uint64_t>();
        unit.offset_bytes = 8;
    }
    if (cursor.has_failed() || bytes > cursor.left()) return unit;
    unit.end = cursor.position() + bytes;
    unit.version = cursor.number<std::uint16_t>();
    if (unit.version < 2 || unit.version > 5) return unit;
    bool is_compile_unit = true;
    if (unit.version >= 5) {
        is_compile_unit = cursor.number<std::uint8_t>() == kCompileUnit;
        unit.address_bytes = cursor.number<std::uint8_t>();
    }
    unit.abbreviations = cursor.number_of(unit.offset_bytes);
    if (unit.version < 5) unit.address_bytes = cursor.number<std::uint8_t>();
    unit.entries = cursor.position();
    unit.is_readable = is_compile_unit && !cursor.has_failed() && unit.entries <= unit.end &&
                       unit.address_bytes == sizeof(std::uint64_t);
    return unit;
}

void each_entry(const DebugSections& sections, const EntryUnit& unit, const EntryVisitor& visitor) {
    if (!unit.is_readable) return;
    const Abbreviations abbreviations(sections.abbreviations, unit.abbreviations);
    ByteCursor cursor(sections.entries.first(unit.end), unit.entries);
    std::size_t depth = 0;
    while (cursor.left() != 0) {
        const std::uint64_t code = cursor.uleb();
        if (code == 0) {
            // It ends a list of children. Padding may follow the unit's own.
            depth -= depth != 0 ? 1 : 0;
            continue;
        }
        const Abbreviation* const shape = abbreviations.find(code);
        if (shape == nullptr) return;
        Entry entry;
        entry.tag = static_cast<EntryTag>(std::min<std::uint64_t>(shape->tag, UINT16_MAX));
        entry.depth = depth;
        for (std::size_t i = shape->begin; i < shape->end; ++i) {
            const AbbreviatedAttribute& attribute = abbreviations.attribute(i);
            const EntryValue value = read_value(attribute, unit, cursor);
            if (EntryValue* const place = place_of(attribute.name, entry)) *place = value;
        }
        if (cursor.has_failed() || !visitor(entry)) return;
        if (shape->has_children) ++depth;
    }
}

}  // namespace aoti_dbg
