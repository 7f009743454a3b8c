// Lines of the Triton source of a kernel. The wrapper source holds it as a comment, the very text that was
// compiled, so that the lines of the kernel image's line table count in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

struct KernelLine {
    std::string text;  // without the blanks around it
    std::string
        parameter;  // the kernel's, through which the line reads or writes; empty where that is not plain
    bool is_write = false;
};

/// `kernel` by its name in the image, `line` from 1. Nothing where the wrapper source has no such kernel or
/// line.
std::optional<KernelLine> find_kernel_line(std::string_view wrapper_source, std::string_view kernel,
                                           std::uint32_t line);

/// Where a kernel asserts on the device.
struct KernelAssertions {
    struct Line {
        std::uint32_t line = 0;
        std::string text;  // without the blanks around it
        bool operator==(const Line&) const = default;
    };
    std::string name;
    std::vector<Line> lines;  // none: it does not
};

/// Of all kernels of the wrapper source, in its order.
std::vector<KernelAssertions> find_assertions(std::string_view wrapper_source);

}  // namespace aoti_dbg
