// Finds lines of a kernel's Triton source. The wrapper source contains it as a comment with the exact text
// that was compiled. So the line table of the kernel image refers to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

struct KernelLine {
    std::string text;       // without surrounding blanks
    std::string parameter;  // parameter that the line accesses, empty if unclear
    bool is_write = false;
};

/// Returns the source of `kernel`, which is the name in the image, as a part of the wrapper source. It is
/// empty if the wrapper has no such kernel. Python wrappers of torch.compile have it in the same form.
std::string_view find_kernel_source(std::string_view wrapper_source, std::string_view kernel);

/// Returns a line of `kernel`, which is the name in the image. `line` counts from 1. Returns nothing if the
/// wrapper source has no such kernel or line.
std::optional<KernelLine> find_kernel_line(std::string_view wrapper_source, std::string_view kernel,
                                           std::uint32_t line);

/// The device assertions of a kernel.
struct KernelAssertions {
    struct Line {
        std::uint32_t line = 0;
        std::string text;  // without surrounding blanks
        bool operator==(const Line&) const = default;
    };
    std::string name;
    std::vector<Line> lines;  // empty if there are none
};

/// Returns the assertions of all kernels of the wrapper source, in its order.
std::vector<KernelAssertions> find_assertions(std::string_view wrapper_source);

}  // namespace aoti_dbg
