// Reads Python's stack texts: `File "/x/net.py", line 12, in forward`, each followed by the line's code.
// Accepts any text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// Longer stacks, and kernels of more sources, are cut.
inline constexpr std::size_t kMostStackLines = 64;

/// One line of the model's source.
struct PythonLine {
    std::string file;  // as PyTorch wrote it, usually absolute
    std::uint32_t line = 0;
    std::string function;
    std::string code;  // empty: unknown
    bool operator==(const PythonLine&) const = default;
};

/// Returns "net.py:12 in forward: x = self.l1(x)".
std::string text_of(const PythonLine& line);

/// Returns the lines of a stack, outermost first.
std::vector<PythonLine> read_python_stack(std::string_view stack);

/// Reads `File: /x/net.py:12 in forward, code: x = self.l1(x)`, as PyTorch prints graphs. Returns an empty
/// file if the text is no such line.
PythonLine read_file_comment(std::string_view comment);

/// Returns the innermost line outside of PyTorch, or the innermost of all. `stack` must not be empty.
const PythonLine& own_line(const std::vector<PythonLine>& stack);

/// Returns the texts of the own lines of whole stacks, each once.
std::vector<std::string> own_lines_of(const std::vector<std::string>& stacks);

/// Returns the texts of all lines outside of PyTorch, each once. `stack_lines` may have several stacks one
/// after the other, whose borders are unknown.
std::vector<std::string> python_lines_of(const std::vector<std::string>& stack_lines);

}  // namespace aoti_dbg
