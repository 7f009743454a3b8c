// Functions of newer glibc releases, and of libm, that the static C++ runtime would pull in, in hidden
// versions of our own, so that the library loads on older systems too. Nothing here is exported.
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" {

// glibc 2.35: the unwinder asks which object a program counter lies in. Headers of that release declare it;
// before, the answer's layout is this.
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
            const auto* wanted = static_cast<Search*>(data);
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
            if (wanted->address < low || wanted->address >= high || eh_frame == nullptr) return 0;
            *wanted->result = {};
            wanted->result->dlfo_map_start = reinterpret_cast<void*>(low);
            wanted->result->dlfo_map_end = reinterpret_cast<void*>(high);
            wanted->result->dlfo_eh_frame = eh_frame;
            return 1;
        },
        &search);
    return found == 1 ? 0 : -1;
}

// glibc 2.38 gives number parsing of C23 names of its own when built against; the old ones do for us. Their
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

// glibc 2.36.
__attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
    std::uint32_t value = 0;
    if (getrandom(&value, sizeof value, 0) != sizeof value) value = static_cast<std::uint32_t>(std::rand());
    return value;
}

// libm's. std::to_chars asks for them around a long double, which nothing of ours prints; by themselves they
// would make the library need libm. The compiler knows the names, so they are given to others.
__attribute__((visibility("hidden"))) int aoti_dbg_fegetround() noexcept __asm__("fegetround");
__attribute__((visibility("hidden"))) int aoti_dbg_fesetround(int mode) noexcept __asm__("fesetround");

int aoti_dbg_fegetround() noexcept {
    return 0;  // to the nearest
}
int aoti_dbg_fesetround(int /*mode*/) noexcept {
    return 0;
}

}  // extern "C"
