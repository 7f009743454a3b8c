// See memory_access.hpp. The fields start at these of the 128 bits:
//
//   0 operation (9, and 3 for its form) · 12 predicate · 16 result · 24 address
//   32 stored value, or uniform register of a load · 40 offset (24, signed) · 64 uniform register of a store
//   72 address has 64 bits · 73 type · 78 scale · 91 there is a uniform register
//
// Since sm_80, global accesses have a descriptor at 91, which adds nothing. Copies from global to shared
// memory (LDGSTS) have their own fields, see below.
#include "gpu_dump/memory_access.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace aoti_dbg::gpu {
namespace {

std::uint32_t field(std::uint64_t word, unsigned shift, unsigned bits) {
    return static_cast<std::uint32_t>(word >> shift & ((std::uint64_t{1} << bits) - 1));
}
/// The highest bit of the field is its sign.
std::int32_t signed_field(std::uint64_t word, unsigned shift, unsigned bits) {
    const std::int64_t above = static_cast<std::int64_t>(word << (64U - shift - bits));
    return static_cast<std::int32_t>(above >> (64U - bits));
}

std::uint32_t operation(const Instruction& instruction) {
    return field(instruction.low, 0, 9);
}

enum class Type { plain, integer, floating, swap };

struct Operation {
    std::uint32_t number;
    AccessKind access;
    Space space;
    Type type;
    bool has_result;
};
constexpr Operation kOperations[] = {
    {0x180, AccessKind::read, Space::global, Type::plain, true},        // LD
    {0x181, AccessKind::read, Space::global, Type::plain, true},        // LDG
    {0x183, AccessKind::read, Space::local, Type::plain, true},         // LDL
    {0x184, AccessKind::read, Space::shared, Type::plain, true},        // LDS
    {0x185, AccessKind::write, Space::global, Type::plain, false},      // ST
    {0x186, AccessKind::write, Space::global, Type::plain, false},      // STG
    {0x187, AccessKind::write, Space::local, Type::plain, false},       // STL
    {0x188, AccessKind::write, Space::shared, Type::plain, false},      // STS
    {0x18a, AccessKind::atomic, Space::global, Type::integer, true},    // ATOM
    {0x18b, AccessKind::atomic, Space::global, Type::swap, true},       // ATOM.CAS
    {0x18e, AccessKind::atomic, Space::global, Type::integer, false},   // RED
    {0x1a3, AccessKind::atomic, Space::global, Type::floating, true},   // ATOMG
    {0x1a6, AccessKind::atomic, Space::global, Type::floating, false},  // RED
    {0x1a8, AccessKind::atomic, Space::global, Type::integer, true},    // ATOMG
    {0x1a9, AccessKind::atomic, Space::global, Type::swap, true},       // ATOMG.CAS
};

/// Returns the size of a type; 0: unknown.
std::uint32_t bytes_of(Type type, std::uint32_t number, std::uint32_t architecture) {
    constexpr std::uint32_t kPlain[] = {1, 1, 2, 2, 4, 8, 16, 0};
    constexpr std::uint32_t kSwap[] = {4, 0, 8, 0, 0, 0, 0, 0};
    constexpr std::uint32_t kInteger[] = {4, 4, 8, 8, 0, 0, 0, 0};
    constexpr std::uint32_t kFloating[] = {4, 4, 8, 16, 0, 0, 0, 8};
    constexpr std::uint32_t kBefore90[] = {4, 4, 8, 4, 4, 8, 8, 0};  // for both atomic types
    switch (type) {
        case Type::plain:
            return kPlain[number];
        case Type::swap:
            return kSwap[number];
        case Type::integer:
            return architecture < 90 ? kBefore90[number] : kInteger[number];
        case Type::floating:
            break;
    }
    return architecture < 90 ? kBefore90[number] : kFloating[number];
}

/// True if the address of a global access comes from the registers alone.
bool is_plain_address(const Instruction& i, const Operation& operation, std::uint32_t architecture) {
    if (field(i.high, 8, 1) == 0) return false;
    const bool is_described = field(i.high, 27, 1) != 0;
    if (operation.access == AccessKind::atomic) {
        const std::uint32_t form = field(i.low, 9, 3);
        return is_described ? architecture >= 80 && form == 4 : form == 1 || (form == 4 && architecture < 80);
    }
    if (architecture < 80) {
        const bool is_generic = operation.number == 0x180 || operation.number == 0x185;
        return !is_generic && field(i.low, 9, 3) == 1 && field(i.high, 26, 2) == 0;
    }
    const bool is_load = operation.access == AccessKind::read;
    return field(i.low, 9, 3) == 4 && field(i.high, 26, 2) == 3 && (!is_load || field(i.high, 0, 8) == 0);
}

/// Returns a mask of the bits from `first` to `last`.
constexpr std::uint64_t bits(unsigned first, unsigned last) {
    return (~std::uint64_t{0} >> (63U - (last - first))) << first;
}

constexpr std::uint32_t kCopyToShared = 0x1ae;

/// LDGSTS [shared], [global]: 24 global address, 32 its offset (12, signed), 87 the predicate of the copy (3,
/// and 1 to negate it). The type moved in sm_100. The other fields are either irrelevant (shared address,
/// descriptor, cache policy) or must have their usual value.
std::optional<MemoryAccess> copy_to_shared(const Instruction& instruction, std::uint32_t architecture) {
    constexpr std::uint64_t kOfNoMatter = bits(17, 18) | bits(23, 26) | bits(41, 63);
    const bool is_newer = architecture >= 100;
    const std::uint64_t of_no_matter =
        kOfNoMatter | (is_newer ? bits(0, 12) : bits(0, 5) | bits(7, 11) | bits(37, 37));
    const std::uint64_t always =
        is_newer ? bits(19, 20) | bits(27, 27) : bits(6, 6) | bits(12, 12) | bits(20, 20) | bits(27, 27);
    if (architecture < 80 || field(instruction.low, 9, 3) != 7 ||
        (instruction.high & ~of_no_matter) != always)
        return std::nullopt;
    MemoryAccess access;
    access.bytes = bytes_of(Type::plain, field(instruction.high, is_newer ? 10 : 9, 3), architecture);
    access.address_register = field(instruction.low, 24, 8);
    access.offset = signed_field(instruction.low, 32, 12);
    access.mask = {field(instruction.high, 23, 3), field(instruction.high, 26, 1) != 0};
    return access.bytes < 4 ? std::nullopt : std::optional(access);
}

/// From sm_100 on, atomics that return the old value have an extra bit above the offset, which is set.
bool has_short_offset(const Instruction& i, const Operation& operation, std::uint32_t architecture) {
    return architecture >= 100 && operation.access == AccessKind::atomic && operation.has_result &&
           field(i.high, 27, 1) != 0;
}

}  // namespace

std::uint32_t architecture_number(std::string_view name) {
    if (name.substr(0, 3) != "sm_") return 0;
    std::uint32_t number = 0;
    std::from_chars(name.data() + 3, name.data() + name.size(), number);
    return number;
}

std::optional<MemoryAccess> memory_access(const Instruction& instruction, std::uint32_t architecture) {
    // Encodings of other architectures were never checked.
    if (architecture < 70 || architecture >= 130) return std::nullopt;
    if (operation(instruction) == kCopyToShared) return copy_to_shared(instruction, architecture);
    const auto* const found =
        std::find_if(std::begin(kOperations), std::end(kOperations),
                     [&](const Operation& known) { return known.number == operation(instruction); });
    if (found == std::end(kOperations)) return std::nullopt;
    const std::uint64_t low = instruction.low;
    const std::uint64_t high = instruction.high;
    MemoryAccess access;
    access.access = found->access;
    access.space = found->space;
    access.bytes = bytes_of(found->type, field(high, 9, 3), architecture);
    access.address_register = field(low, 24, 8);
    access.offset = signed_field(low, 40, 24);
    if (has_short_offset(instruction, *found, architecture)) {
        if (field(low, 63, 1) == 0) return std::nullopt;
        access.offset = signed_field(low, 40, 23);
    }
    if (found->has_result) access.result_register = field(low, 16, 8);
    if (found->type == Type::plain && access.bytes == 0) return std::nullopt;
    if (found->space == Space::global)
        return is_plain_address(instruction, *found, architecture) ? std::optional(access) : std::nullopt;
    constexpr std::uint32_t kShifts[] = {0, 2, 3, 4};
    access.shift = kShifts[field(high, 14, 2)];
    if (field(high, 27, 1) != 0)
        access.uniform_register = found->access == AccessKind::read ? field(low, 32, 8) : field(high, 0, 8);
    const bool is_usual = field(low, 9, 3) == (found->access == AccessKind::read ? 4U : 1U);
    // Stores with a uniform base have their own forms.
    if (!is_usual && access.uniform_register == kNoRegister) return std::nullopt;
    if (access.uniform_register != kNoRegister && access.uniform_register > 62) return std::nullopt;
    return access;
}

bool may_write(const Instruction& instruction, std::uint32_t first, std::uint32_t count, bool is_uniform) {
    const std::uint32_t number = operation(instruction);
    // Stores, comparisons, branches and waits have no result.
    constexpr std::uint32_t kNothing[] = {0x00b, 0x00c, 0x01c, 0x02a, 0x08c, 0x09c, 0x118, 0x11a,
                                          0x11d, 0x141, 0x145, 0x147, 0x148, 0x14d, 0x185, 0x186,
                                          0x187, 0x188, 0x18e, 0x18f, 0x192, 0x1a6, 0x1ae, 0x1af};
    if (std::find(std::begin(kNothing), std::end(kNothing), number) != std::end(kNothing)) return false;
    // The uniform datapath has its own numbers; S2UR and similar are elsewhere.
    const bool writes_uniform = number >= 0x80 && number < 0x100;
    if (writes_uniform && !is_uniform) return false;
    constexpr std::uint32_t kSingle[] = {0x002, 0x007, 0x008, 0x009, 0x010, 0x011, 0x012, 0x016,
                                         0x019, 0x020, 0x021, 0x023, 0x024, 0x108, 0x119, 0x1c3};
    std::uint32_t results = 4;
    if (std::find(std::begin(kSingle), std::end(kSingle), number) != std::end(kSingle)) results = 1;
    if (number == 0x005 || number == 0x025) results = 2;  // CS2R, IMAD.WIDE
    if (number >= 0x180 && number <= 0x184) {
        const std::uint32_t type = field(instruction.high, 9, 3);
        results = type == 6 ? 4 : type == 5 ? 2 : 1;
        if (type == 7) results = 4;
    }
    const std::uint32_t result = field(instruction.low, 16, 8);
    if (result == kNoRegister && !is_uniform) return false;
    return result < first + count && first < result + results;
}

bool may_write_predicate(const Instruction& instruction, std::uint32_t predicate) {
    constexpr std::uint32_t kRegisterToPredicates = 0x004;
    if (operation(instruction) == kRegisterToPredicates) return true;
    return field(instruction.high, 17, 3) == predicate || field(instruction.high, 20, 3) == predicate;
}

bool may_jump(const Instruction& instruction) {
    const std::uint32_t number = operation(instruction);
    constexpr std::uint32_t kSync = 0x141;
    constexpr std::uint32_t kEnterRegion = 0x145;
    constexpr std::uint32_t kExit = 0x14d;  // threads that stopped later did not exit
    return number >= 0x140 && number < 0x160 && number != kSync && number != kEnterRegion && number != kExit;
}

}  // namespace aoti_dbg::gpu
