// See elf_reader.hpp. Structures are copied out, because they may be unaligned.
#include "binary/elf_reader.hpp"

#include <algorithm>
#include <string>

namespace aoti_dbg::elf {
namespace {

/// Longer than any name. The limit bounds repeated searches in an unterminated section.
constexpr std::size_t kLongestString = std::size_t{1} << 16U;

// In `st_other` of a symbol: a function that the host can launch.
constexpr unsigned char kCudaEntry = 0x10;

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
    const std::size_t there = std::min(bytes.size(), std::size_t{SELFMAG});
    if (bytes.empty())
        return Status::error("is empty. Check whether the disk is full or the file is still being written");
    if (std::memcmp(bytes.data(), ELFMAG, there) != 0) return Status::error("is not an ELF file");
    const std::optional<Elf64_Ehdr> header = copy_at<Elf64_Ehdr>(bytes, 0);
    if (!header) return cut_off(sizeof(Elf64_Ehdr), bytes.size());
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return Status::error("is an ELF file, but not a 64-bit little-endian one");
    File file(bytes, *header);
    if (header->e_shoff == 0) return file;
    if (header->e_shentsize != sizeof(Elf64_Shdr))
        return damaged("its section headers have an unexpected size");
    const std::optional<Elf64_Shdr> first = copy_at<Elf64_Shdr>(bytes, header->e_shoff);
    if (!first) {
        if (header->e_shoff > UINT64_MAX - sizeof(Elf64_Shdr))
            return damaged("its section headers are outside the file");
        return cut_off(header->e_shoff + sizeof(Elf64_Shdr), bytes.size());
    }
    const std::uint64_t count = header->e_shnum != 0 ? header->e_shnum : first->sh_size;
    const std::uint64_t room = (bytes.size() - header->e_shoff) / sizeof(Elf64_Shdr);
    if (count > room) {
        constexpr std::uint64_t kMostSections = UINT32_MAX;  // links between them have 32 bits
        if (count > kMostSections) return damaged("it has too many sections");
        return cut_off(header->e_shoff + count * sizeof(Elf64_Shdr), bytes.size());
    }
    file.sections_ = count;
    const std::size_t names = header->e_shstrndx == SHN_XINDEX ? first->sh_link : header->e_shstrndx;
    file.names_ = file.section(names).content;
    return file;
}

Section File::section(std::size_t index) const {
    Section section;
    if (index == 0 || index >= sections_) return section;
    const std::optional<Elf64_Shdr> header =
        copy_at<Elf64_Shdr>(bytes_, header_.e_shoff + index * sizeof(Elf64_Shdr));
    if (!header) return section;
    section.name = header->sh_name;
    section.type = header->sh_type;
    section.flags = header->sh_flags;
    section.address = header->sh_addr;
    section.bytes = header->sh_size;
    section.link = header->sh_link;
    section.info = header->sh_info;
    section.entry_bytes = header->sh_entsize;
    section.is_whole = header->sh_type == SHT_NOBITS || header->sh_size == 0;
    if (section.is_whole || header->sh_offset > bytes_.size()) return section;
    const std::uint64_t room = bytes_.size() - header->sh_offset;
    section.content = bytes_.subspan(header->sh_offset, std::min(header->sh_size, room));
    section.is_whole = header->sh_size <= room;
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
        if ((candidate.flags & std::uint64_t{SHF_ALLOC}) == 0 || candidate.address == 0) continue;
        if (address >= candidate.address && address - candidate.address < candidate.bytes) return i;
    }
    return 0;
}

Symbols::Symbols(const File& file) : Symbols(file, 0) {
    for (const unsigned type : {SHT_SYMTAB, SHT_DYNSYM}) {
        for (std::size_t i = 1; i < file.sections(); ++i) {
            if (file.section(i).type != type) continue;
            *this = Symbols(file, i);
            return;
        }
    }
}

Symbols::Symbols(const File& file, std::size_t section) : file_(&file) {
    const Section table = file.section(section);
    if (table.type != SHT_SYMTAB && table.type != SHT_DYNSYM) return;
    entries_ = table.content;
    count_ = entries_.size() / sizeof(Elf64_Sym);
    const Section strings = file.section(table.link);
    if (strings.type == SHT_STRTAB) strings_ = strings.content;
}

std::optional<Symbol> Symbols::at(std::size_t index) const {
    if (index >= count_) return std::nullopt;
    const Elf64_Sym entry = *copy_at<Elf64_Sym>(entries_, index * sizeof(Elf64_Sym));
    Symbol symbol;
    symbol.name = entry.st_name;
    symbol.is_function = ELF64_ST_TYPE(entry.st_info) == STT_FUNC;
    symbol.is_kernel = symbol.is_function && (entry.st_other & kCudaEntry) != 0;
    symbol.offset = entry.st_value;
    symbol.bytes = entry.st_size;
    // An index beyond 16 bits is in a section that this reader skips, so such a symbol has no section.
    if (entry.st_shndx >= SHN_LORESERVE || entry.st_shndx >= file_->sections()) return symbol;
    symbol.section = entry.st_shndx;
    // In a linked program, values are addresses. In unlinked files and compiler-made modules they are section
    // offsets. For a module that the driver relocated, the value itself shows which.
    const Section section = file_->section(entry.st_shndx);
    if (file_->type() != ET_REL && entry.st_value >= section.address)
        symbol.offset = entry.st_value - section.address;
    return symbol;
}

std::string_view Symbols::name(const Symbol& symbol) const {
    return File::string_at(strings_, symbol.name).value_or(std::string_view());
}

}  // namespace aoti_dbg::elf
