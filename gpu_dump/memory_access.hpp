// Decodes the memory access of a kernel instruction from its 16 bytes: encodings of sm_70 to sm_120, as
// nvdisasm spells them. Anything uncertain (TMA, textures, rare scaled or based addresses) decodes to
// nothing, because a decoded address must never be wrong.
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

/// A predicate that must hold. By default it always does.
struct Guard {
    std::uint32_t predicate = kTruePredicate;
    bool is_negated = false;
};

enum class AccessKind { read, write, atomic };
enum class Space { global, shared, local };  // global: or generic

inline constexpr std::uint32_t kNoRegister = 255;

/// The address is register (two of them for 64 bits) << shift + uniform register + offset.
struct MemoryAccess {
    AccessKind access = AccessKind::read;
    Space space = Space::global;
    std::uint32_t bytes = 0;  // 0: unknown
    std::uint32_t address_register = kNoRegister;
    std::uint32_t shift = 0;
    std::uint32_t uniform_register = kNoRegister;
    std::int32_t offset = 0;
    std::uint32_t result_register = kNoRegister;  // the first register that it loads into
    Guard mask = {};                              // if it does not hold, the instruction fills with zeros and
                                                  // reads nothing

    [[nodiscard]] bool has_wide_address() const { return space == Space::global; }
};

/// Returns 90 for "sm_90a", and 0 if `name` is not an architecture.
std::uint32_t architecture_number(std::string_view name);

std::optional<MemoryAccess> memory_access(const Instruction& instruction, std::uint32_t architecture);

/// Returns the guard that must hold for the instruction to execute.
inline Guard guard_of(const Instruction& instruction) {
    return {static_cast<std::uint32_t>(instruction.low >> 12U & 7U), (instruction.low >> 15U & 1U) != 0};
}

/// True if the instruction may have changed any register from `first` on, or if that is unknown.
bool may_write(const Instruction& instruction, std::uint32_t first, std::uint32_t count, bool is_uniform);
/// True if it may have changed the predicate, or if that is unknown.
bool may_write_predicate(const Instruction& instruction, std::uint32_t predicate);
/// True if the next instruction to run may not be the following one.
bool may_jump(const Instruction& instruction);

}  // namespace aoti_dbg::gpu
