// Builds the names of saved tensors' files: <folder of run and call>/<side>_<kernel>_<argument>_<device>.pt,
// PyTorch's documented name. Names of kernels and arguments may contain any bytes. No name must lead out of
// its folder, and an escaped name can be decoded again. Touches no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// Identifies a tensor of a call.
struct SavedPlace {
    EventSide side = EventSide::before;
    std::uint32_t run = ~0U;             // ~0U outside of any run
    std::uint32_t call = kNoCallNumber;  // in the run
    std::uint64_t sequence = 0;          // of the call in the process; names calls outside runs
    std::string_view kernel;             // ignored for inputs and outputs
    std::string_view label;              // buf1
    std::string_view device;             // cuda:0
};

struct NameRules {
    bool portable = false;      // escape what other file systems and artifact stores reject
    std::size_t longest = 255;  // longest file name of the file system, in bytes
};

/// Reserves room behind a name for the number of a repeated name (beyond a thousand) and for a process
/// number.
inline constexpr std::size_t kRoomBehindName = 16;

/// Writes `/`, `%`, control characters and bytes that are not UTF-8 as `%2F`. With portable rules, does the
/// same for `"`, `:`, `<`, `>`, `|`, `*`, `?` and `\`.
std::string escaped_name(std::string_view name, bool portable);
/// Inverts escaped_name().
std::string unescaped_name(std::string_view name);

/// Returns "run0000/call0041", "run0000/inputs" or "outside/seq0000000123".
std::string folder_of(const SavedPlace& place);
/// Returns "run0000", the first part of folder_of().
std::string folder_of_run(std::uint32_t run);

/// Returns "before_launch_triton_poi_fused_0_buf1_cuda:0". If that is longer than the rules allow, the kernel
/// name is cut first, then the label and the device. `~` and a hash of the whole name replace the rest.
std::string stem_of(const SavedPlace& place, const NameRules& rules);
/// Returns the whole name if stem_of() cuts it, else an empty string.
std::string whole_stem_if_cut(const SavedPlace& place, const NameRules& rules);

/// Returns "<stem>.pt", or "<stem>.2.pt" for the second file of that name.
std::string file_name_of(std::string_view stem, std::uint64_t number);
void append_file_name(std::string_view stem, std::uint64_t number, std::string& out);

}  // namespace aoti_dbg
