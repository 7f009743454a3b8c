// Writes the files of a small model by hand: a library, a cubin, and packages.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "serializer/zip_writer.hpp"
#include "tests/support/elf_writer.hpp"

namespace aoti_dbg::test {

struct LibraryChoices {
    std::vector<std::string> defines = {"AOTInductorModelContainerRun", "cpp_fused_relu_0"};
    std::vector<std::string> imports = {"aoti_torch_cpu_addmm_out"};
    bool has_slots = true;  // the library calls its own kernels through import slots
    std::string data;       // of .rodata
};

/// Returns an ELF file with the dynamic symbols of a model.
inline std::string model_library(const LibraryChoices& choices = {}) {
    ElfWriter elf(3, 62);
    elf.add({".text", 1, std::string(64, '\x90'), 6, 0x1000});
    elf.add({".rodata", 1, choices.data, 2, 0x2000});
    std::string names(1, '\0');
    Packed symbols;
    Packed slots;
    symbols.resize(24);
    std::uint64_t number = 0;
    const auto add = [&](const std::string& name, std::uint64_t section, std::uint64_t value) {
        symbols.u32(names.size()).u8(0x12).u8(0).u16(section).u64(value).u64(8);
        names += name + '\0';
        ++number;
        if (choices.has_slots) slots.u64(0x3000 + 8 * number).u64(number << 32U | 7U).u64(0);
    };
    for (const std::string& name : choices.imports)
        add(name, 0, 0);
    for (const std::string& name : choices.defines)
        add(name, 1, 0x1000);
    const std::uint32_t strings = elf.add({".dynstr", 3, names});
    const std::uint32_t table = elf.add({".dynsym", 11, symbols.bytes(), 2, 0, strings, 1, 24});
    elf.add({".rela.plt", 4, slots.bytes(), 2, 0, table, 0, 24});
    elf.add({".comment", 1, std::string("GCC: (Debian) 12.2.0") + '\0'});
    return elf.bytes();
}

/// Returns the image of a kernel for sm_90, with the header that ptxas writes.
inline std::string model_cubin(const std::string& kernel, bool is_new_version = true) {
    ElfWriter elf(2, 190);
    const std::uint32_t code = elf.add({".text." + kernel, 1, std::string(64, '\0'), 6});
    const std::uint32_t strings = elf.add({".strtab", 3, std::string(1, '\0') + kernel + '\0'});
    Packed symbols;
    symbols.resize(24).u32(1).u8(0x12).u8(0x10).u16(code).u64(0).u64(64);
    elf.add({".symtab", 2, symbols.bytes(), 0, 0, strings, 1, 24});
    std::string bytes = elf.bytes();
    const std::string flags = Packed().u32(is_new_version ? 0x6005a04 : 0x5a055a).bytes();
    bytes.replace(48, flags.size(), flags);
    bytes[8] = is_new_version ? '\x08' : '\x07';
    return bytes;
}

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

inline std::string archive_of(const NamedTexts& files) {
    ZipWriter writer("", 1);
    for (const auto& [name, text] : files)
        writer.add(name, text);
    writer.finish();
    const std::vector<std::byte> bytes = writer.take();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace aoti_dbg::test
