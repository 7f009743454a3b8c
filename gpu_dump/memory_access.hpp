// What an instruction of a kernel does to memory, from its 16 bytes: encodings of sm_70 to sm_120 as
// nvdisasm spells them. What is not surely understood (TMA, textures, addresses with a scale or a base that
// are rare) is nothing: an address that is made of it must never be a wrong one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace aoti_dbg::gpu {

struct Instruction {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};
inline constexpr std::uint64_t kInstructionBytes = 16;

inline constexpr std::uint32_t kTruePredicate = 7;

/// A predicate that has to hold; by itself it always does.
struct Guard {
    std::uint32_t predicate = kTruePredicate;
    bool is_negated = false;
};

enum class Access { read, write, atomic };
enum class Space { global, shared, local };  // global: or generic

inline constexpr std::uint32_t kNoRegister = 255;

/// Address: register (two of them, where it has 64 bits) << shift + uniform register + offset.
struct MemoryAccess {
    Access access = Access::read;
    Space space = Space::global;
    std::uint32_t bytes = 0;  // 0: not known
    std::uint32_t address_register = kNoRegister;
    std::uint32_t shift = 0;
    std::uint32_t uniform_register = kNoRegister;
    std::int32_t offset = 0;
    std::uint32_t result_register = kNoRegister;  // the first of those that it loads
    Guard mask = {};                              // else it fills with zeros, and reads nothing

    [[nodiscard]] bool has_wide_address() const { return space == Space::global; }
};

/// "sm_90a" -> 90; 0 where it is none.
std::uint32_t architecture_number(std::string_view name);

std::optional<MemoryAccess> memory_access(const Instruction& instruction, std::uint32_t architecture);

/// What has to hold for it to do anything.
inline Guard guard_of(const Instruction& instruction) {
    return {static_cast<std::uint32_t>(instruction.low >> 12U & 7U), (instruction.low >> 15U & 1U) != 0};
}

/// Whether it may have changed any of the registers from `first` on; yes where that is not known.
bool may_write(const Instruction& instruction, std::uint32_t first, std::uint32_t count, bool is_uniform);
/// Likewise for a predicate.
bool may_write_predicate(const Instruction& instruction, std::uint32_t predicate);
/// Whether what comes after it may not be what runs next.
bool may_jump(const Instruction& instruction);

}  // namespace aoti_dbg::gpu
