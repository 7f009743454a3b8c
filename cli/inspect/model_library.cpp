#include "cli/inspect/model_library.hpp"

#include <elf.h>

#include <algorithm>
#include <string_view>

#include "base/bytes_at.hpp"
#include "binary/elf_reader.hpp"
#include "binary/function_lines.hpp"
#include "model/container_table.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::string_view kRunImpl = "_ZN5torch12aot_inductor16AOTInductorModel8run_implE";
constexpr std::string_view kNamePrinter = "[ before_launch: ";
/// Weights follow the code in the same file, and can take gigabytes.
constexpr std::size_t kMostSearched = std::size_t{256} << 20U;
constexpr std::uint16_t kCudaMachine = 190;
constexpr std::size_t kAbiVersion = 8;  // in e_ident

std::string_view text_of(elf::Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Calls `see` with the sections of that type.
template <typename See>
void each_section(const elf::File& file, std::uint32_t type, const See& see) {
    for (std::size_t i = 1; i < file.sections(); ++i)
        if (const elf::Section section = file.section(i); section.type == type) see(i, section);
}

void read_symbols(const elf::File& file, ModelLibrary& facts) {
    std::set<std::string, std::less<>> slots;
    each_section(file, SHT_DYNSYM, [&](std::size_t index, const elf::Section&) {
        const elf::Symbols symbols(file, index);
        for (std::size_t i = 1; i < symbols.size(); ++i) {
            const elf::Symbol symbol = *symbols.at(i);
            const std::string_view name = symbols.name(symbol);
            if (name.empty()) continue;
            if (symbol.section == 0 && symbol.offset == 0)
                facts.imports.emplace(name);
            else if (name.starts_with("cpp_") && symbol.is_function)
                facts.cpp_kernels.emplace(name);
            for (const ContainerFunction& function : kContainerFunctions)
                if (name == function.name) facts.release = std::max(facts.release, function.since);
        }
        each_section(file, SHT_RELA, [&](std::size_t, const elf::Section& table) {
            if (table.link != index) return;
            for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.content.size();
                 at += sizeof(Elf64_Rela)) {
                const auto entry = *copy_at<Elf64_Rela>(table.content, at);
                if (const auto symbol = symbols.at(ELF64_R_SYM(entry.r_info)))
                    slots.emplace(symbols.name(*symbol));
            }
        });
    });
    for (const std::string& kernel : facts.cpp_kernels)
        if (slots.count(kernel) == 0) facts.bound_inside.insert(kernel);
    for (const ContainerFunction& function : kContainerFunctions) {
        if (facts.release == 0 || function.since <= facts.release) continue;
        // Only models that were compiled with an option define these.
        if (std::string_view(function.name).find("MinimalArrayref") != std::string_view::npos) continue;
        if (facts.next_release == 0 || function.since < facts.next_release)
            facts.next_release = function.since;
    }
}

/// Returns the symbols of kernels that another function of the library calls directly.
void read_hidden_kernels(const elf::File& file, ModelLibrary& facts) {
    each_section(file, SHT_SYMTAB, [&](std::size_t index, const elf::Section&) {
        const elf::Symbols symbols(file, index);
        for (std::size_t i = 1; i < symbols.size(); ++i) {
            const elf::Symbol symbol = *symbols.at(i);
            const std::string_view name = symbols.name(symbol);
            if (!name.starts_with("cpp_fused_") || !symbol.is_function || symbol.section == 0) continue;
            if (facts.cpp_kernels.emplace(name).second) facts.bound_inside.emplace(name);
        }
    });
}

void search_data(const elf::File& file, ModelLibrary& facts) {
    each_section(file, SHT_PROGBITS, [&](std::size_t, const elf::Section& section) {
        if ((section.flags & std::uint64_t{SHF_ALLOC}) == 0 ||
            (section.flags & std::uint64_t{SHF_EXECINSTR}) != 0)
            return;
        const elf::Bytes bytes = section.content.first(std::min(section.content.size(), kMostSearched));
        const std::string_view text = text_of(bytes);
        facts.prints_names = facts.prints_names || text.find(kNamePrinter) != std::string_view::npos;
        for (std::size_t at = text.find("\177ELF"); at != std::string_view::npos;
             at = text.find("\177ELF", at + 1)) {
            const std::string architecture = architecture_of(bytes.subspan(at));
            if (!architecture.empty()) facts.architectures.insert(architecture);
        }
    });
}

}  // namespace

std::string architecture_of(std::span<const std::byte> cubin) {
    const auto header = copy_at<Elf64_Ehdr>(cubin, 0);
    if (!header || !text_of(cubin).starts_with("\177ELF") || header->e_machine != kCudaMachine) return {};
    // Version 8 moved the number.
    const bool is_new = header->e_ident[kAbiVersion] >= 8;
    const std::uint32_t number = is_new ? header->e_flags >> 8U & 0xffU : header->e_flags & 0xffU;
    return number == 0 ? std::string() : "sm_" + std::to_string(number);
}

bool is_model_library(std::span<const std::byte> bytes) {
    const Result<elf::File> opened = elf::File::open(bytes);
    if (!opened.ok()) return false;
    bool is_model = false;
    each_section(opened.value(), SHT_DYNSYM, [&](std::size_t index, const elf::Section&) {
        const elf::Symbols symbols(opened.value(), index);
        for (std::size_t i = 1; i < symbols.size() && !is_model; ++i) {
            const elf::Symbol symbol = *symbols.at(i);
            const std::string_view name = symbols.name(symbol);
            is_model = symbol.section != 0 && (name == "AOTInductorModelContainerRun" ||
                                               name.find("inductor_entry_impl") != std::string_view::npos);
        }
    });
    return is_model;
}

std::vector<std::string> kernels_in(std::span<const std::byte> cubin) {
    std::vector<std::string> names;
    const Result<elf::File> opened = elf::File::open(cubin);
    if (!opened.ok() || opened.value().machine() != kCudaMachine) return names;
    const elf::Symbols symbols(opened.value());
    for (std::size_t i = 1; i < symbols.size(); ++i)
        if (const elf::Symbol symbol = *symbols.at(i); symbol.is_kernel)
            names.emplace_back(symbols.name(symbol));
    return names;
}

ModelLibrary read_library(std::span<const std::byte> bytes) {
    ModelLibrary facts;
    facts.bytes = bytes.size();
    const Result<elf::File> opened = elf::File::open(bytes);
    if (!opened.ok()) {
        facts.problem = opened.status().message();
        return facts;
    }
    const elf::File& file = opened.value();
    if (file.type() != ET_DYN) {
        facts.problem = "is an ELF file, but not a shared library";
        return facts;
    }
    read_symbols(file, facts);
    read_hidden_kernels(file, facts);
    search_data(file, facts);
    facts.has_lines = lines_of_function(file, kRunImpl).ok();
    const std::string_view comment = text_of(file.section(file.find(".comment")).content);
    facts.compiler = comment.substr(0, comment.find('\0'));
    return facts;
}

}  // namespace aoti_dbg::cli
