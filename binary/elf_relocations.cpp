// See elf_relocations.hpp. The entry type is ignored. The width of a reference is known from its field, and
// its value is symbol plus addend on all supported machines.
#include "binary/elf_relocations.hpp"

#include <algorithm>

namespace aoti_dbg::elf {

Relocations::Relocations(const File& file, std::size_t section) {
    for (std::size_t i = 1; i < file.sections(); ++i) {
        const Section table = file.section(i);
        if (table.info != section || (table.type != SHT_REL && table.type != SHT_RELA)) continue;
        // A section has one table. A second one could repeat the same bytes.
        symbols_.emplace(file, table.link);
        read(table);
        return;
    }
}

void Relocations::read(const Section& table) {
    const bool has_addends = table.type == SHT_RELA;
    const std::size_t bytes = has_addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    entries_.reserve(table.content.size() / bytes);
    for (std::size_t at = 0; table.content.size() - at >= bytes; at += bytes) {
        Entry entry;
        entry.offset = copy_at<std::uint64_t>(table.content, at).value_or(0);
        entry.symbol =
            static_cast<std::uint32_t>(copy_at<std::uint64_t>(table.content, at + 8).value_or(0) >> 32U);
        if (has_addends) entry.addend = copy_at<std::int64_t>(table.content, at + 16);
        entries_.push_back(entry);
    }
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
}

Place Relocations::place_at(std::uint64_t offset, std::uint64_t stored) const {
    const auto entry = std::lower_bound(entries_.begin(), entries_.end(), offset,
                                        [](const Entry& e, std::uint64_t at) { return e.offset < at; });
    if (entry == entries_.end() || entry->offset != offset) return {0, stored};
    const std::optional<Symbol> symbol = symbols_->at(entry->symbol);
    if (!symbol || symbol->section == 0) return {0, stored};
    const std::uint64_t addend = entry->addend ? static_cast<std::uint64_t>(*entry->addend) : stored;
    return {symbol->section, symbol->offset + addend};
}

}  // namespace aoti_dbg::elf
