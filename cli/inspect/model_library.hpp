// What the ELF file of a model shows without its sources: the functions it calls, the PyTorch release that
// compiled it, and the GPU architectures of its kernels. Pure. Must accept any bytes.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace aoti_dbg::cli {

struct ModelLibrary {
    std::string problem;      // why it cannot be read; nothing else is known then
    std::uint64_t bytes = 0;  // of the file
    /// The newest release whose functions it defines, such as 210. 0 if it defines none.
    std::uint16_t release = 0;
    std::uint16_t next_release = 0;              // the first one with further functions, 0 if there is none
    std::string compiler;                        // of the host code
    std::set<std::string, std::less<>> imports;  // functions that it takes from elsewhere
    std::set<std::string, std::less<>> cpp_kernels;  // that it defines
    /// Kernels among them that the library calls without an import slot.
    std::set<std::string, std::less<>> bound_inside;
    std::set<std::string, std::less<>> architectures;  // of embedded cubins
    bool has_lines = false;                            // a line table covers the calls of a run
    bool prints_names = false;                         // contains PyTorch's name printer
};

ModelLibrary read_library(std::span<const std::byte> bytes);

/// Returns whether it is a model's library, intact or not.
bool is_model_library(std::span<const std::byte> bytes);

/// Returns the kernels of a cubin, by the names of their functions.
std::vector<std::string> kernels_in(std::span<const std::byte> cubin);

/// Returns "sm_90" for a cubin, and an empty text for other files.
std::string architecture_of(std::span<const std::byte> cubin);

}  // namespace aoti_dbg::cli
