// Recognizes a wrapper source in a log of TORCH_TRACE. The log's copy and the file differ in a few comments
// and in the folders of the compilation, so both are compared in a reduced form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// A `[Provenance debug handles] kernel:1` comment. `line` is the reduced line below it.
struct ProvenanceHandle {
    std::uint32_t line = 0;
    std::string key;
};

struct WrapperPrint {
    std::uint64_t hash = 0;
    std::uint64_t bytes = 0;  // 0: there is no text
    std::vector<ProvenanceHandle> handles;
    std::vector<std::uint32_t> left_out;  // numbers of the lines that the reduced form lacks, ascending

    /// Converts a line number of the text, from 1, to the reduced form.
    [[nodiscard]] std::uint32_t reduced(std::uint32_t line) const;
    [[nodiscard]] bool is_of_same_code(const WrapperPrint& other) const {
        return bytes != 0 && bytes == other.bytes && hash == other.hash;
    }
};

/// Reduces a wrapper source. Leaves out handles, folders of paths, trailing space, and what torch appends
/// later. Puts the values of `int_array_7` in the place of its name, because torch numbers and shares these
/// arrays differently from one compilation to the next.
WrapperPrint print_of(std::string_view wrapper);

/// Returns the C++ source inside a Python wrapper (TORCHINDUCTOR_CPP_WRAPPER=1), or an empty text.
std::string_view embedded_wrapper(std::string_view python);

}  // namespace aoti_dbg
