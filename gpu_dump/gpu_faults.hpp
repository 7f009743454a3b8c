// What a GPU core dump says of what went wrong: each warp that met an exception, with its kernel, its place
// in the code and its threads. Nothing is guessed: what the dump does not say is empty here.
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
    std::string_view function;  // its symbol
    bool is_kernel = false;
    std::uint64_t offset = 0;  // in the function
    Index module = kNone;
    std::size_t section = 0;           // of the module's image
    std::uint64_t section_offset = 0;  // in that section
};

/// The functions of all module images by address. The dump outlives it.
class CodeMap {
  public:
    explicit CodeMap(const GpuDump& dump);
    [[nodiscard]] std::optional<CodePlace> find(Index device, std::uint64_t address) const;

  private:
    struct Function {
        Index device = kNone;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        elf::Bytes names;  // of its module, and where its own begins there
        std::uint32_t name = 0;
        bool is_kernel = false;
        Index module = kNone;
        std::size_t section = 0;
        std::uint64_t section_offset = 0;
    };
    void add_functions_of(const GpuDump& dump, Index module);

    std::vector<Function> functions_;  // by device and address
};

/// The lines of that place, by LineTable::find(); empty where there is no table.
std::vector<SourceLine> source_lines(const GpuDump& dump, const CodePlace& place);

enum class PcKind {
    none,     // the dump has no PC
    error,    // of the instruction that met the exception
    stopped,  // where a faulting thread stopped, which may be somewhat later
};

enum class ThreadsKind {
    none,     // the dump has no threads of that warp, or no warp
    faulted,  // these met the exception
    active,   // one or more of these did: they executed the instruction
};

struct Fault {
    Index device = kNone;
    Index sm = kNone;
    Index warp = kNone;   // kNone: the warp had ended before the dump was written
    Index block = kNone;  // likewise
    Index grid = kNone;   // kNone: not in the dump, or not known
    Index later_grid =
        kNone;             // one that came after it and met its exception, which was late; without warp then
    bool is_trap = false;  // the kernel stopped itself; there is no exception then
    std::optional<std::uint32_t> exception;
    std::string_view exception_text;  // the driver's own words
    std::optional<std::uint64_t> pc;
    PcKind pc_kind = PcKind::none;
    std::string_view kernel;         // its symbol; empty: no image has it
    std::optional<CodePlace> place;  // of the PC; may be a function that the kernel called
    std::vector<Dim3> threads;
    ThreadsKind threads_kind = ThreadsKind::none;
};

/// In the order of the dump.
std::vector<Fault> faults(const GpuDump& dump, const CodeMap& code);

}  // namespace aoti_dbg::gpu
