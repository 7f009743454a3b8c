#include "shim/runtime/loaded_object.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "shim/runtime/real_dlsym.hpp"

namespace aoti_dbg {
namespace {

#if defined(__x86_64__)
constexpr unsigned kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr unsigned kGlobDat = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr unsigned kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr unsigned kGlobDat = R_AARCH64_GLOB_DAT;
#endif

LoadedObject describe(const dl_phdr_info& info) {
    LoadedObject object;
    object.path = info.dlpi_name == nullptr ? "" : info.dlpi_name;
    object.base = info.dlpi_addr;
    object.low = UINTPTR_MAX;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info.dlpi_phdr[i];
        const std::uintptr_t from = object.base + header.p_vaddr;
        const std::uintptr_t to = from + header.p_memsz;
        if (header.p_type == PT_LOAD) {
            object.low = std::min(object.low, from);
            object.high = std::max(object.high, to);
        } else if (header.p_type == PT_DYNAMIC) {
            object.dynamic = reinterpret_cast<const ElfW(Dyn)*>(from);
        } else if (header.p_type == PT_GNU_RELRO) {
            // The loader protects whole pages. If the last page also holds writable data, it stays writable.
            const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
            object.relro_low = from / page * page;
            object.relro_high = to / page * page;
        }
    }
    return object;
}

struct Tables {
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* hashes = nullptr;  // null if the object has only the old kind of table
    const ElfW(Rela) * relocations[2] = {nullptr, nullptr};
    std::size_t counts[2] = {0, 0};
    std::size_t relative = 0;  // relocations without a symbol at the start of relocations[1]
};

Tables tables_of(const LoadedObject& object) {
    Tables tables;
    // glibc writes absolute addresses into the dynamic sections of most objects, but not of all (the vDSO).
    const auto address = [&object](ElfW(Addr) value) {
        return value < object.base ? value + object.base : value;
    };
    bool rela = true;
    for (const ElfW(Dyn)* entry = object.dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
            case DT_SYMTAB:
                tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address(entry->d_un.d_ptr));
                break;
            case DT_STRTAB:
                tables.strings = reinterpret_cast<const char*>(address(entry->d_un.d_ptr));
                break;
            case DT_GNU_HASH:
                tables.hashes = reinterpret_cast<const std::uint32_t*>(address(entry->d_un.d_ptr));
                break;
            case DT_JMPREL:
                tables.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(address(entry->d_un.d_ptr));
                break;
            case DT_PLTRELSZ:
                tables.counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            case DT_RELA:
                tables.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(address(entry->d_un.d_ptr));
                break;
            case DT_RELASZ:
                tables.counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            case DT_RELACOUNT:
                tables.relative = entry->d_un.d_val;
                break;
            case DT_PLTREL:
                rela = entry->d_un.d_val == DT_RELA;
                break;
            default:
                break;
        }
    }
    if (!rela) tables.counts[0] = 0;
    return tables;
}

std::uint32_t gnu_hash(const char* symbol) {
    std::uint32_t hash = 5381;
    for (; *symbol != '\0'; ++symbol)
        hash = hash * 33 + static_cast<unsigned char>(*symbol);
    return hash;
}

std::string program_path() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return {path, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

bool defines(const LoadedObject& object, const char* symbol) {
    const Tables tables = tables_of(object);
    if (tables.hashes == nullptr || tables.symbols == nullptr || tables.strings == nullptr) return false;
    // Number of buckets, first symbol, number of 64-bit filter words, shift; filter; buckets; one hash a
    // symbol.
    const std::uint32_t first = tables.hashes[1];
    const std::uint32_t* const buckets = tables.hashes + 4 + 2 * std::size_t{tables.hashes[2]};
    const std::uint32_t* const chains = buckets + tables.hashes[0];
    const std::uint32_t hash = gnu_hash(symbol);
    std::uint32_t at = tables.hashes[0] == 0 ? 0 : buckets[hash % tables.hashes[0]];
    for (; at >= first; ++at) {
        const std::uint32_t chain = chains[at - first];
        const ElfW(Sym)& entry = tables.symbols[at];
        if ((chain | 1U) == (hash | 1U) && strcmp(tables.strings + entry.st_name, symbol) == 0)
            return entry.st_shndx != SHN_UNDEF;
        if ((chain & 1U) != 0) return false;  // the last of its bucket
    }
    return false;
}

std::vector<LoadedObject> loaded_objects() {
    std::vector<LoadedObject> objects;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            static_cast<std::vector<LoadedObject>*>(out)->push_back(describe(*info));
            return 0;
        },
        &objects);
    if (!objects.empty() && objects.front().path.empty()) {
        objects.front().is_program = true;
        objects.front().path = program_path();
    }
    return objects;
}

LoaderCounts loader_counts() {
    LoaderCounts counts;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
            static_cast<LoaderCounts*>(out)->loaded = info->dlpi_adds;
            static_cast<LoaderCounts*>(out)->unloaded = info->dlpi_subs;
            return 1;
        },
        &counts);
    return counts;
}

std::optional<LoadedObject> object_at(const void* address) {
    for (LoadedObject& object : loaded_objects()) {
        if (object.contains(reinterpret_cast<std::uintptr_t>(address))) return std::move(object);
    }
    return std::nullopt;
}

void for_each_import(const LoadedObject& object, const std::function<void(const ImportSlot&)>& visit) {
    const Tables tables = tables_of(object);
    if (tables.symbols == nullptr || tables.strings == nullptr) return;
    for (int table = 0; table < 2; ++table) {
        if (tables.relocations[table] == nullptr) continue;
        for (std::size_t i = table == 1 ? tables.relative : 0; i < tables.counts[table]; ++i) {
            const ElfW(Rela)& relocation = tables.relocations[table][i];
            const unsigned type = ELF64_R_TYPE(relocation.r_info);
            const std::size_t index = ELF64_R_SYM(relocation.r_info);
            if ((type != kJumpSlot && type != kGlobDat) || index == 0) continue;
            const ElfW(Sym)& symbol = tables.symbols[index];
            visit(ImportSlot{tables.strings + symbol.st_name,
                             reinterpret_cast<void**>(object.base + relocation.r_offset),
                             symbol.st_shndx == SHN_UNDEF ? 0 : object.base + symbol.st_value});
        }
    }
}

void* real_behind(const LoadedObject& object, const ImportSlot& slot) {
    void* value = __atomic_load_n(slot.address, __ATOMIC_ACQUIRE);
    const auto number = reinterpret_cast<std::uintptr_t>(value);
    if (!object.contains(number) || number == slot.own_definition) return value;

    // The slot leads into the object itself but not to a definition of that name. So it points to the
    // object's own PLT and is not bound yet. The loader would search the global scope, then the object's own.
    void* found = real_dlsym(RTLD_DEFAULT, slot.symbol);
    if (found != nullptr) return found;
    void* handle = dlopen(object.is_program ? nullptr : object.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    found = real_dlsym(handle, slot.symbol);
    dlclose(handle);
    return found;
}

Status write_slot(const LoadedObject& object, const ImportSlot& slot, void* value) {
    const auto place = reinterpret_cast<std::uintptr_t>(slot.address);
    const bool read_only = place >= object.relro_low && place < object.relro_high;
    const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    void* page = reinterpret_cast<void*>(place / page_bytes * page_bytes);
    if (read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
        return Status::error("cannot make the import slots of " + object.path +
                             " writable: " + strerror(errno));
    }
    __atomic_store_n(slot.address, value, __ATOMIC_RELEASE);
    if (read_only) mprotect(page, page_bytes, PROT_READ);
    return {};
}

}  // namespace aoti_dbg
