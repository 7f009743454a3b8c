// What the person asked for: the variables of options.def turned into one immutable value.
// Pure: it reads the environment through a function it is given, touches nothing, and never fails; a wrong
// value becomes a complaint (one line: the value, what is allowed, what was taken instead) and the default.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// What is done for each selected call. PyTorch's levels are names for sets of these.
struct Levels {
    bool names = false;  // level 3: print `[ before_launch: kernel ]`
    bool stats = false;  // level 2
    bool files = false;  // level 1
    [[nodiscard]] bool any() const { return names || stats || files; }
    bool operator==(const Levels&) const = default;
};

enum class Scope { model, all };

struct Options {
    Levels levels;
    std::vector<std::string> filtered_kernels;  // lower case, trimmed; empty: every kernel
    Scope scope = Scope::model;
    std::string out;            // pattern of the output folder, unexpanded
    std::string log;            // "stderr", "stdout" or a file's pattern, unexpanded
    std::uint32_t ring = 4096;  // records a thread in the flight ring, a power of two; 0: no ring
};

/// The value of a variable, or nullptr. `getenv` does.
using Environment = std::function<const char*(const char* name)>;

/// Complaints are whole sentences without prefix, ready for message(Severity::warn, ...).
Options parse_options(const Environment& environment, std::vector<std::string>& complaints);

/// Whether the filter lets a call through that PyTorch calls `printed` and the shim `symbol` (both may be
/// equal). PyTorch's rule: case-insensitive, exact.
bool passes_filter(const Options& options, std::string_view printed, std::string_view symbol);

/// Expands %p pid, %h host, %r rank (RANK, LOCAL_RANK, SLURM_PROCID, else 0), %t local time as
/// 20261121-093000, %q{VAR} a variable, %% a per cent sign. Anything else stays as it stands.
std::string expand_pattern(std::string_view pattern, const Environment& environment);

}  // namespace aoti_dbg
