// Hidden versions of functions that the static C++ runtime needs from newer glibc releases and from libm.
// They let the library and the command load on older systems. Nothing here is exported.
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" {

// The unwinder of glibc 2.35 uses this to find the object that contains a program counter. Older headers do
// not declare the result, so this repeats its layout.
#if !defined(DLFO_STRUCT_HAS_EH_DBASE)
struct dl_find_object {
    unsigned long long dlfo_flags;
    void* dlfo_map_start;
    void* dlfo_map_end;
    struct link_map* dlfo_link_map;
    void* dlfo_eh_frame;
    unsigned long long reserved[7];
};
#endif

__attribute__((visibility("hidden"))) int _dl_find_object(void* address, dl_find_object* result) noexcept {
    struct Search {
        std::uintptr_t address;
        dl_find_object* result;
    } search{reinterpret_cast<std::uintptr_t>(address), result};
    const int found = dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            const auto* requested = static_cast<Search*>(data);
            std::uintptr_t low = UINTPTR_MAX;
            std::uintptr_t high = 0;
            void* eh_frame = nullptr;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const ElfW(Phdr)& header = info->dlpi_phdr[i];
                const std::uintptr_t from = info->dlpi_addr + header.p_vaddr;
                if (header.p_type == PT_GNU_EH_FRAME) eh_frame = reinterpret_cast<void*>(from);
                if (header.p_type != PT_LOAD) continue;
                if (from < low) low = from;
                if (from + header.p_memsz > high) high = from + header.p_memsz;
            }
            if (requested->address < low || requested->address >= high || eh_frame == nullptr) return 0;
            *requested->result = {};
            requested->result->dlfo_map_start = reinterpret_cast<void*>(low);
            requested->result->dlfo_map_end = reinterpret_cast<void*>(high);
            requested->result->dlfo_eh_frame = eh_frame;
            return 1;
        },
        &search);
    return found == 1 ? 0 : -1;
}

// Since glibc 2.38, number parsing compiles to C23 names. The old functions behave the same for us. Their
// types are those of <cstdlib>.
#define AOTI_DBG_C23_NAME(Type, name)                                                                    \
    Type aoti_dbg_old_##name(const char*, char**, int) noexcept __asm__(#name);                          \
    __attribute__((visibility("hidden"))) Type __isoc23_##name(const char* text, char** end, int base) { \
        return aoti_dbg_old_##name(text, end, base);                                                     \
    }
AOTI_DBG_C23_NAME(long, strtol)
AOTI_DBG_C23_NAME(unsigned long, strtoul)
AOTI_DBG_C23_NAME(long long, strtoll)
AOTI_DBG_C23_NAME(unsigned long long, strtoull)

// arc4random() is new in glibc 2.36.
__attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
    std::uint32_t value = 0;
    if (getrandom(&value, sizeof value, 0) != sizeof value) value = static_cast<std::uint32_t>(std::rand());
    return value;
}

// std::to_chars uses these libm functions for long double, which we never print. Without these versions, the
// library would depend on libm. The compiler knows the names as built-ins, so the functions have other names
// here.
__attribute__((visibility("hidden"))) int aoti_dbg_fegetround() noexcept __asm__("fegetround");
__attribute__((visibility("hidden"))) int aoti_dbg_fesetround(int mode) noexcept __asm__("fesetround");

int aoti_dbg_fegetround() noexcept {
    return 0;  // round to nearest
}
int aoti_dbg_fesetround(int /*mode*/) noexcept {
    return 0;
}

}  // extern "C"
