// See elf_reader.hpp. Structures are copied out, because they may be unaligned.
#include "binary/elf_reader.hpp"

#include <algorithm>
#include <string>

namespace aoti_dbg::elf {
namespace {

/// Longer than any name. The limit bounds repeated searches in an unterminated section.
constexpr std::size_t kLongestString = std::size_t{1} << 16U;

Status cut_off(std::uint64_t needed, std::size_t there) {
    return Status::error("is truncated: expected at least " + std::to_string(needed) + " bytes, got " +
                         std::to_string(there) +
                         ". Check whether the disk is full or the file is still being written");
}

Status damaged(const char* what) {
    return Status::error(std::string("is a damaged ELF file: ") + what + ". Write or copy it again");
}

std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<File> File::open(Bytes bytes) {
    const std::size_t there = std::min(bytes.size(), sizeof(kMagic));
    if (bytes.empty())
        return Status::error("is empty. Check whether the disk is full or the file is still being written");
    if (std::memcmp(bytes.data(), kMagic, there) != 0) return Status::error("is not an ELF file");
    const std::optional<Header> header = copy_at<Header>(bytes, 0);
    if (!header) return cut_off(sizeof(Header), bytes.size());
    if (header->width != kClass64 || header->byte_order != kLittleEndian)
        return Status::error("is an ELF file, but not a 64-bit little-endian one");
    File file(bytes, *header);
    if (header->sections_offset == 0) return file;
    if (header->section_bytes != sizeof(SectionHeader))
        return damaged("its section headers have an unexpected size");
    const std::optional<SectionHeader> first = copy_at<SectionHeader>(bytes, header->sections_offset);
    if (!first) {
        if (header->sections_offset > UINT64_MAX - sizeof(SectionHeader))
            return damaged("its section headers are outside the file");
        return cut_off(header->sections_offset + sizeof(SectionHeader), bytes.size());
    }
    const std::uint64_t count = header->sections != 0 ? header->sections : first->bytes;
    const std::uint64_t room = (bytes.size() - header->sections_offset) / sizeof(SectionHeader);
    if (count > room) {
        constexpr std::uint64_t kMostSections = UINT32_MAX;  // links between them have 32 bits
        if (count > kMostSections) return damaged("it has too many sections");
        return cut_off(header->sections_offset + count * sizeof(SectionHeader), bytes.size());
    }
    file.sections_ = count;
    const std::size_t names = header->names_section == kIndexElsewhere ? first->link : header->names_section;
    file.names_ = file.section(names).content;
    return file;
}

Section File::section(std::size_t index) const {
    Section section;
    if (index == 0 || index >= sections_) return section;
    const std::optional<SectionHeader> header =
        copy_at<SectionHeader>(bytes_, header_.sections_offset + index * sizeof(SectionHeader));
    if (!header) return section;
    section.name = header->name;
    section.type = header->type;
    section.flags = header->flags;
    section.address = header->address;
    section.bytes = header->bytes;
    section.link = header->link;
    section.info = header->info;
    section.entry_bytes = header->entry_bytes;
    section.is_whole = header->type == kNothingInFile || header->bytes == 0;
    if (section.is_whole || header->offset > bytes_.size()) return section;
    const std::uint64_t room = bytes_.size() - header->offset;
    section.content = bytes_.subspan(header->offset, std::min(header->bytes, room));
    section.is_whole = header->bytes <= room;
    return section;
}

std::optional<std::string_view> File::string_at(Bytes strings, std::uint64_t offset) {
    if (offset >= strings.size()) return std::nullopt;
    const std::string_view rest = text_of(strings).substr(offset, kLongestString);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
}

std::string_view File::section_name(const Section& section) const {
    return string_at(names_, section.name).value_or(std::string_view());
}

std::size_t File::find(std::string_view name) const {
    for (std::size_t i = 1; i < sections_; ++i) {
        const Section candidate = section(i);
        if (candidate.name >= names_.size()) continue;
        const std::string_view rest = text_of(names_).substr(candidate.name);
        if (rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == '\0') return i;
    }
    return 0;
}

std::size_t File::holder_of(std::uint64_t address) const {
    for (std::size_t i = 1; i < sections_; ++i) {
        const Section candidate = section(i);
        // All sections of an unlinked file start at 0.
        if ((candidate.flags & kInMemory) == 0 || candidate.address == 0) continue;
        if (address >= candidate.address && address - candidate.address < candidate.bytes) return i;
    }
    return 0;
}

Symbols::Symbols(const File& file) : Symbols(file, 0) {
    for (const std::uint32_t type : {kSymbols, kDynamicSymbols}) {
        for (std::size_t i = 1; i < file.sections(); ++i) {
            if (file.section(i).type != type) continue;
            *this = Symbols(file, i);
            return;
        }
    }
}

Symbols::Symbols(const File& file, std::size_t section) : file_(&file) {
    const Section table = file.section(section);
    if (table.type != kSymbols && table.type != kDynamicSymbols) return;
    entries_ = table.content;
    count_ = entries_.size() / sizeof(SymbolEntry);
    const Section strings = file.section(table.link);
    if (strings.type == kStrings) strings_ = strings.content;
}

std::optional<Symbol> Symbols::at(std::size_t index) const {
    if (index >= count_) return std::nullopt;
    const SymbolEntry entry = *copy_at<SymbolEntry>(entries_, index * sizeof(SymbolEntry));
    Symbol symbol;
    symbol.name = entry.name;
    symbol.is_function = (entry.info & 0xfU) == kFunction;
    symbol.is_kernel = symbol.is_function && (entry.other & kCudaEntry) != 0;
    symbol.offset = entry.value;
    symbol.bytes = entry.bytes;
    // An index beyond 16 bits is in a section that this reader skips, so such a symbol has no section.
    if (entry.section >= kFirstReservedSection || entry.section >= file_->sections()) return symbol;
    symbol.section = entry.section;
    // In a linked program, values are addresses. In unlinked files and compiler-made modules they are section
    // offsets. For a module that the driver relocated, the value itself shows which.
    const Section section = file_->section(entry.section);
    if (file_->type() != kRelocatable && entry.value >= section.address)
        symbol.offset = entry.value - section.address;
    return symbol;
}

std::string_view Symbols::name(const Symbol& symbol) const {
    return File::string_at(strings_, symbol.name).value_or(std::string_view());
}

}  // namespace aoti_dbg::elf
