// See fault_access.hpp. A thread stops some instructions after the faulting one. The instructions between
// them may have changed the registers of the address.
#include "gpu_dump/fault_access.hpp"

#include <algorithm>

namespace aoti_dbg::gpu {
namespace {

class Code {
  public:
    Code(const GpuDump& dump, const CodePlace& place) : begin_(place.section_offset) {
        const Result<elf::File> image = elf::File::open(dump.modules[place.module].image);
        if (image.ok()) bytes_ = image.value().section(place.section).content;
    }
    [[nodiscard]] std::optional<Instruction> at(std::uint64_t offset) const {
        return copy_at<Instruction>(bytes_, begin_ + offset);
    }

  private:
    elf::Bytes bytes_;
    std::uint64_t begin_;
};

/// Which registers are unchanged between an access and the place where a thread stopped.
struct Since {
    bool has_address = false;
    bool is_certain = false;
    bool has_predicates = false;
};

Since inspect(const Code& code, const Instruction& faulting, const MemoryAccess& access,
              std::uint64_t distance) {
    // Longer distances are rare, and each instruction on the way could be misread.
    constexpr std::uint64_t kFarthest = 256 * kInstructionBytes;
    if (distance > kFarthest || distance % kInstructionBytes != 0) return {};
    Since since{true, true, true};
    const std::uint32_t wide = access.has_wide_address() ? 2 : 1;
    // A faulting load may have loaded part of its result.
    if (access.result_register != kNoRegister && access.address_register != kNoRegister &&
        may_write(faulting, access.address_register, wide, false))
        since.is_certain = false;
    for (std::uint64_t offset = kInstructionBytes; offset < distance; offset += kInstructionBytes) {
        const std::optional<Instruction> next = code.at(offset);
        if (!next) return {};
        if (access.address_register != kNoRegister && may_write(*next, access.address_register, wide, false))
            return {};
        if (access.uniform_register != kNoRegister && may_write(*next, access.uniform_register, 1, true))
            return {};
        if (may_jump(*next)) since.is_certain = false;
        for (const std::uint32_t predicate : {guard_of(faulting).predicate, access.mask.predicate}) {
            if (predicate != kTruePredicate && may_write_predicate(*next, predicate))
                since.has_predicates = false;
        }
    }
    return since;
}

std::optional<std::uint64_t> address_of(const MemoryAccess& access, const Warp& warp, const Lane& lane) {
    std::uint64_t address = 0;
    if (access.address_register != kNoRegister) {
        const std::optional<std::uint32_t> low =
            GpuDump::register_of(lane.registers, access.address_register);
        if (!low) return std::nullopt;
        address = std::uint64_t{*low} << access.shift;
        if (access.has_wide_address()) {
            const std::optional<std::uint32_t> high =
                GpuDump::register_of(lane.registers, access.address_register + 1);
            if (!high) return std::nullopt;
            address |= std::uint64_t{*high} << 32U;
        }
    }
    if (access.uniform_register != kNoRegister) {
        const std::optional<std::uint32_t> base =
            GpuDump::register_of(warp.uniform_registers, access.uniform_register);
        if (!base) return std::nullopt;
        address += *base;
    }
    address += static_cast<std::uint64_t>(std::int64_t{access.offset});
    return access.has_wide_address() ? address : address & 0xffffffffU;
}

/// Returns whether the guard held, or nothing if that is unknown.
std::optional<bool> held(const Guard& guard, const Since& since, const Lane& lane) {
    if (guard.predicate == kTruePredicate) return !guard.is_negated;
    if (!since.has_predicates) return std::nullopt;
    const std::optional<std::uint32_t> value = GpuDump::register_of(lane.predicates, guard.predicate);
    return value ? std::optional((*value != 0) != guard.is_negated) : std::nullopt;
}

/// True if the register of the upper half must have changed since. Null pointers are below the limit.
bool lacks_upper_half(std::uint64_t address) {
    constexpr std::uint64_t kNearNull = std::uint64_t{1} << 20U;
    return address >= kNearNull && address >> 32U == 0;
}

}  // namespace

std::optional<FaultAccess> fault_access(const GpuDump& dump, const Fault& fault) {
    if (!fault.place || !fault.pc || fault.pc_kind != PcKind::error) return std::nullopt;
    const Code code(dump, *fault.place);
    const std::optional<Instruction> instruction = code.at(0);
    if (!instruction) return std::nullopt;
    const std::uint32_t architecture = architecture_number(dump.devices[fault.device].architecture);
    const std::optional<MemoryAccess> access = memory_access(*instruction, architecture);
    if (!access) return std::nullopt;
    FaultAccess found;
    found.instruction = *access;
    if (fault.warp == kNone) return found;
    const Warp& warp = dump.warps[fault.warp];
    found.is_certain = true;
    for (Index i = 0; i < warp.lanes; ++i) {
        const Lane& lane = dump.lanes[warp.first_lane + i];
        if (lane.id >= 32 || (warp.active_lanes >> lane.id & 1U) == 0 || lane.pc < *fault.pc) continue;
        const Since since = inspect(code, *instruction, *access, lane.pc - *fault.pc);
        if (!since.has_address) continue;
        const std::optional<bool> runs = held(guard_of(*instruction), since, lane);
        const std::optional<bool> reads = held(access->mask, since, lane);
        if (!runs.value_or(true) || !reads.value_or(true)) continue;
        const std::optional<std::uint64_t> address = address_of(*access, warp, lane);
        if (!address) continue;
        found.threads.push_back({lane.thread, *address});
        // Masked-off threads have addresses past the end.
        found.is_certain &= since.is_certain && runs && reads;
    }
    if (access->has_wide_address() && !found.is_certain) {
        const auto wrong = [](const auto& thread) { return lacks_upper_half(thread.address); };
        found.threads.erase(std::remove_if(found.threads.begin(), found.threads.end(), wrong),
                            found.threads.end());
    }
    return found;
}

}  // namespace aoti_dbg::gpu
