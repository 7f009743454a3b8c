#include "shim/capture/image_bytes.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace aoti_dbg {
namespace {

constexpr std::uint32_t kFatbinMagic = 0xba55ed50;
constexpr std::uint32_t kWrapperMagic = 0x466243b1;

struct FatbinHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t header_bytes;
    std::uint64_t bytes;  // after the header
};

struct FatbinWrapper {
    std::uint32_t magic;
    std::uint32_t version;
    const void* fatbin;
};

template <typename T>
T read_at(const void* image, std::uint64_t offset) {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(image) + offset, sizeof value);
    return value;
}

std::size_t elf_bytes(const void* image) {
    const auto header = read_at<Elf64_Ehdr>(image, 0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
    std::uint64_t end = std::max(header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize,
                                 header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto section =
            read_at<Elf64_Shdr>(image, header.e_shoff + std::uint64_t{i} * header.e_shentsize);
        if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
    }
    return end;
}

}  // namespace

const void* unwrapped_image(const void* image) {
    if (read_at<std::uint32_t>(image, 0) != kWrapperMagic) return image;
    return read_at<FatbinWrapper>(image, 0).fatbin;
}

std::size_t image_bytes(const void* image) {
    if (std::memcmp(image, ELFMAG, SELFMAG) == 0) return elf_bytes(image);
    if (read_at<std::uint32_t>(image, 0) == kFatbinMagic) {
        const auto header = read_at<FatbinHeader>(image, 0);
        return header.header_bytes + header.bytes;
    }
    const auto first = read_at<unsigned char>(image, 0);
    const bool is_text = first == '/' || first == '.' || first == '\n' || (first >= 'A' && first <= 'Z');
    return is_text ? std::strlen(static_cast<const char*>(image)) + 1 : 0;
}

}  // namespace aoti_dbg
