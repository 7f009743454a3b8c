// The CUDA driver's GPU core dump, as far as this reader uses it: an ELF file of type ET_CORE and
// machine EM_CUDA, whose sections are tables. Each table belongs to one entry of another: `link` is that
// table's section, and `info` is the entry's number.
//
//   meta       devices ─┬─ contexts ── modules ── image of a module (ELF)
//   strings             ├─ grids ── parameters of a grid
//                       └─ SMs ── blocks ── warps ─┬─ lanes ─┬─ registers
//                                                  │         └─ predicates
//                                                  └─ uniform registers
//
// Registers and predicates are 32 bits each, starting with number 0. The section's `entry_bytes` is the
// length of an entry. Newer drivers append members, so a member past an entry's end is absent. Texts are
// offsets into the section .strtab. The toolkit's cudacoredump.h documents what each driver adds.
#pragma once

#include <elf.h>

#include <cstdint>

namespace aoti_dbg::gpu {

enum class Table : std::uint32_t {  // section types
    registers = SHT_LOUSER + 5,
    module_image = SHT_LOUSER + 7,
    devices = SHT_LOUSER + 9,
    contexts = SHT_LOUSER + 10,
    sms = SHT_LOUSER + 11,
    grids = SHT_LOUSER + 12,
    blocks = SHT_LOUSER + 13,
    warps = SHT_LOUSER + 14,
    lanes = SHT_LOUSER + 15,
    modules = SHT_LOUSER + 16,
    predicates = SHT_LOUSER + 17,
    parameters = SHT_LOUSER + 18,
    uniform_registers = SHT_LOUSER + 19,
    meta = SHT_LOUSER + 22,
};

// Offsets of members in an entry. An entry shorter than `kLeast` is unusable.

namespace device {
inline constexpr std::uint64_t kName = 0;  // text, as is the next
inline constexpr std::uint64_t kArchitecture = 16;
inline constexpr std::uint64_t kId = 24;  // 32 bits
inline constexpr std::uint64_t kLeast = 28;
}  // namespace device

namespace context {
inline constexpr std::uint64_t kId = 0;
inline constexpr std::uint64_t kHostThread = 36;  // 32 bits
inline constexpr std::uint64_t kLeast = 8;
}  // namespace context

namespace module {
inline constexpr std::uint64_t kHandle = 0;
inline constexpr std::uint64_t kLeast = 8;
}  // namespace module

namespace grid {
inline constexpr std::uint64_t kId = 0;
inline constexpr std::uint64_t kContext = 8;
inline constexpr std::uint64_t kFunction = 16;
inline constexpr std::uint64_t kEntry = 24;
inline constexpr std::uint64_t kModule = 32;
inline constexpr std::uint64_t kParent = 40;
inline constexpr std::uint64_t kGridDim = 72;   // three of 32 bits
inline constexpr std::uint64_t kBlockDim = 84;  // three of 32 bits
inline constexpr std::uint64_t kLeast = 32;
}  // namespace grid

namespace sm {
inline constexpr std::uint64_t kId = 0;         // 32 bits
inline constexpr std::uint64_t kException = 8;  // 32 bits; from here on since driver 555
inline constexpr std::uint64_t kErrorPcValid = 12;
inline constexpr std::uint64_t kErrorPc = 16;
inline constexpr std::uint64_t kExceptionText = 40;  // text; since driver 580
inline constexpr std::uint64_t kLeast = 8;
}  // namespace sm

namespace block {
inline constexpr std::uint64_t kGrid = 0;   // grid id
inline constexpr std::uint64_t kIndex = 8;  // three of 32 bits
inline constexpr std::uint64_t kLeast = 20;
}  // namespace block

namespace warp {
inline constexpr std::uint64_t kErrorPc = 0;
inline constexpr std::uint64_t kId = 8;  // 32 bits, as are the next
inline constexpr std::uint64_t kValidLanes = 12;
inline constexpr std::uint64_t kActiveLanes = 16;
inline constexpr std::uint64_t kIsBroken = 20;
inline constexpr std::uint64_t kErrorPcValid = 24;
inline constexpr std::uint64_t kLeast = 20;
}  // namespace warp

namespace lane {
inline constexpr std::uint64_t kPc = 0;
inline constexpr std::uint64_t kId = 16;      // 32 bits, as are the next
inline constexpr std::uint64_t kThread = 20;  // three
inline constexpr std::uint64_t kException = 32;
inline constexpr std::uint64_t kLeast = 32;
}  // namespace lane

namespace meta {
inline constexpr std::uint64_t kDriver = 8;  // 32 bits each: major, minor
inline constexpr std::uint64_t kCuda = 16;   // 32 bits each: major, minor
inline constexpr std::uint64_t kTime = 28;   // 32 bits, seconds since 1970
inline constexpr std::uint64_t kLeast = 32;
}  // namespace meta

}  // namespace aoti_dbg::gpu
