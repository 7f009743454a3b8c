// How the files of saved tensors are called: <folder of run and call>/<side>_<kernel>_<argument>_<device>.pt,
// PyTorch's documented name. Names of kernels and arguments may hold anything; no name leads out of its
// folder, and what is replaced can be told from the name again. Pure: looks at no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// Which tensor of which call.
struct SavedPlace {
    EventSide side = EventSide::before;
    std::uint32_t run = ~0U;             // ~0U: outside of any
    std::uint32_t call = kNoCallNumber;  // in the run
    std::uint64_t sequence = 0;          // of the call, in the process; names what is in no run
    std::string_view kernel;             // of inputs and outputs: not looked at
    std::string_view label;              // buf1
    std::string_view device;             // cuda:0
};

struct NameRules {
    bool portable = false;      // without what other file systems and artifact stores refuse
    std::size_t longest = 255;  // bytes of a file's name that the file system takes
};

/// Files beyond a thousand of one name, and a process's number, must find room behind a name.
inline constexpr std::size_t kRoomBehindName = 16;

/// `/`, `%`, control characters, and what is not UTF-8, as `%2F`; with portable rules also `" : < > | * ? \`.
std::string escaped_name(std::string_view name, bool portable);
/// What escaped_name() was made of.
std::string unescaped_name(std::string_view name);

/// "run0000/call0041", "run0000/inputs", "outside/seq0000000123"
std::string folder_of(const SavedPlace& place);
/// "run0000": the first part of folder_of().
std::string folder_of_run(std::uint32_t run);

/// "before_launch_triton_poi_fused_0_buf1_cuda:0". Where that would be longer than the rules allow, the
/// kernel's name is cut, after it the others, and `~` with a hash of the whole name stands for the rest.
std::string stem_of(const SavedPlace& place, const NameRules& rules);
/// Of a name that stem_of() cut: the whole of it; else empty.
std::string whole_stem_if_cut(const SavedPlace& place, const NameRules& rules);

/// "<stem>.pt", "<stem>.2.pt" for the second of that name.
std::string file_name_of(std::string_view stem, std::uint64_t number);

}  // namespace aoti_dbg
