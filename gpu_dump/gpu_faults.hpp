// The faults in a GPU core dump: each warp that raised an exception, with its kernel, code location and
// threads. It must not guess: a fact that the dump lacks stays empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "binary/line_table.hpp"
#include "gpu_dump/gpu_dump.hpp"

namespace aoti_dbg::gpu {

/// A place in the code of a module.
struct CodePlace {
    std::string_view function;  // symbol
    bool is_kernel = false;
    std::uint64_t offset = 0;  // in the function
    Index module = kNone;
    std::size_t section = 0;           // of the module's image
    std::uint64_t section_offset = 0;  // in that section
};

/// The functions of all module images, by address. The dump must outlive it.
class CodeMap {
  public:
    explicit CodeMap(const GpuDump& dump);
    [[nodiscard]] std::optional<CodePlace> find(Index device, std::uint64_t address) const;

  private:
    struct Function {
        Index device = kNone;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        elf::Bytes names;  // strings of its module; `name` is its offset in them
        std::uint32_t name = 0;
        bool is_kernel = false;
        Index module = kNone;
        std::size_t section = 0;
        std::uint64_t section_offset = 0;
    };
    void add_functions_of(const GpuDump& dump, Index module);

    std::vector<Function> functions_;  // by device and address
};

/// Returns the source lines from LineTable::find(), or nothing if there is no line table.
std::vector<SourceLine> source_lines(const GpuDump& dump, const CodePlace& place);

enum class PcKind {
    none,     // the dump has no PC
    error,    // the instruction that raised the exception
    stopped,  // where a faulting thread stopped, possibly later
};

enum class ThreadsKind {
    none,     // the dump has no threads of that warp, or no warp
    faulted,  // these raised the exception
    active,   // these executed the instruction; at least one raised the exception
};

struct Fault {
    Index device = kNone;
    Index sm = kNone;
    Index warp = kNone;        // kNone: the warp exited before the dump was written
    Index block = kNone;       // kNone: as for `warp`
    Index grid = kNone;        // kNone: unknown, or not in the dump
    Index later_grid = kNone;  // a later grid that received the late exception; there is no warp then
    bool is_trap = false;      // the kernel stopped itself, without an exception
    std::optional<std::uint32_t> exception;
    std::string_view exception_text;  // the driver's own words
    std::optional<std::uint64_t> pc;
    PcKind pc_kind = PcKind::none;
    std::string_view kernel;         // symbol; empty: no image has it
    std::optional<CodePlace> place;  // of the PC; it may be in a function that the kernel called
    std::vector<Dim3> threads;
    ThreadsKind threads_kind = ThreadsKind::none;
};

/// Returns the faults in dump order.
std::vector<Fault> faults(const GpuDump& dump, const CodeMap& code);

}  // namespace aoti_dbg::gpu
