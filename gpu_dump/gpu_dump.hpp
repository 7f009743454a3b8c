// Reads an in-memory GPU core dump of the CUDA driver (gpu_dump_format.hpp). It accepts any bytes: damaged or
// truncated parts are dropped and noted, and absent facts stay empty. It keeps a few words per entry. Texts,
// parameters, registers and images point into the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "binary/elf_reader.hpp"

namespace aoti_dbg::gpu {

/// An index into one of the lists of a dump.
using Index = std::uint32_t;
inline constexpr Index kNone = std::numeric_limits<Index>::max();

struct Dim3 {
    std::uint32_t x = 0;
    std::uint32_t y = 0;
    std::uint32_t z = 0;
    bool operator==(const Dim3&) const = default;
};

struct Device {
    std::uint32_t id = 0;
    std::string_view name;          // "NVIDIA H200"; empty: unknown
    std::string_view architecture;  // "sm_90"
};

struct Context {
    Index device = kNone;
    std::uint64_t id = 0;
    std::optional<std::uint32_t> host_thread;
};

struct Module {
    Index context = kNone;
    std::uint64_t handle = 0;
    elf::Bytes image;  // relocated ELF file; empty: the dump does not have it
};

struct Grid {
    Index device = kNone;
    std::uint64_t id = 0;  // counts the launches of a context
    std::uint64_t context = 0;
    std::uint64_t function = 0;
    std::uint64_t entry = 0;  // address of the kernel's first instruction
    std::optional<std::uint64_t> module;
    std::optional<std::uint64_t> parent;  // the grid that launched it; 0: launched by the host
    std::optional<Dim3> blocks;           // its dimensions
    std::optional<Dim3> threads;          // dimensions of a block
    elf::Bytes parameters;
};

struct Sm {
    Index device = kNone;
    std::uint32_t id = 0;
    std::optional<std::uint32_t> exception;  // missing before driver 555
    std::optional<std::uint64_t> error_pc;
    std::string_view exception_text;  // the driver's own words; missing before driver 580
};

struct Block {
    Index sm = kNone;
    std::uint64_t grid = 0;  // grid id
    Dim3 index;
};

struct Warp {
    Index block = kNone;
    std::uint32_t id = 0;
    std::uint32_t valid_lanes = 0;
    std::uint32_t active_lanes = 0;
    bool is_broken = false;  // stopped at a trap or a breakpoint
    std::optional<std::uint64_t> error_pc;
    Index first_lane = kNone;
    Index lanes = 0;  // 0: the dump has none
    elf::Bytes uniform_registers;
};

struct Lane {
    Index warp = kNone;
    std::uint32_t id = 0;
    std::uint64_t pc = 0;  // where it stopped
    Dim3 thread;
    std::optional<std::uint32_t> exception;
    elf::Bytes registers;
    elf::Bytes predicates;
};

/// True if the thread executes its warp's current instruction.
inline bool is_active(const Warp& warp, const Lane& lane) {
    return lane.id < 32 && (warp.active_lanes >> lane.id & 1U) != 0;
}

struct Version {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
};

/// Present since driver 565.
struct Meta {
    Version driver;
    Version cuda;
    std::uint32_t time = 0;  // seconds since 1970
};

struct GpuDump {
    std::vector<Device> devices;
    std::vector<Context> contexts;
    std::vector<Module> modules;
    std::vector<Grid> grids;
    std::vector<Sm> sms;
    std::vector<Block> blocks;
    std::vector<Warp> warps;
    std::vector<Lane> lanes;
    std::optional<Meta> meta;
    std::vector<std::string> notes;  // the first few damaged or truncated parts

    /// Returns a register, or nothing if the bytes are too few.
    [[nodiscard]] static std::optional<std::uint32_t> register_of(elf::Bytes registers,
                                                                  std::uint32_t number) {
        return copy_at<std::uint32_t>(registers, std::uint64_t{number} * sizeof(std::uint32_t));
    }
    [[nodiscard]] Index device_of(const Module& module) const {
        return module.context == kNone ? kNone : contexts[module.context].device;
    }
};

/// `bytes` is the complete file and must outlive the dump. Fails if it is not a GPU core dump, or is
/// truncated before its section table.
Result<GpuDump> read_gpu_dump(elf::Bytes bytes);

}  // namespace aoti_dbg::gpu
