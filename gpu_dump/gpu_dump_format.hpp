// The CUDA driver's GPU core dump, as far as this reader uses it: an ELF file (elf_format.hpp) of type kCore
// and machine kMachineCuda, whose sections are tables. Each table belongs to one entry of another: `link` is
// that table's section, and `info` is the entry's number.
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

#include <cstdint>

#include "binary/elf_format.hpp"

namespace aoti_dbg::gpu {

enum class Table : std::uint32_t {  // section types
    registers = elf::kLoUser + 5,
    module_image = elf::kLoUser + 7,
    devices = elf::kLoUser + 9,
    contexts = elf::kLoUser + 10,
    sms = elf::kLoUser + 11,
    grids = elf::kLoUser + 12,
    blocks = elf::kLoUser + 13,
    warps = elf::kLoUser + 14,
    lanes = elf::kLoUser + 15,
    modules = elf::kLoUser + 16,
    predicates = elf::kLoUser + 17,
    parameters = elf::kLoUser + 18,
    uniform_registers = elf::kLoUser + 19,
    meta = elf::kLoUser + 22,
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
