// The table of AOTI C shim functions (aoti_torch_*): how to read a call's frame, the kind of the function,
// and the printer's name for it. scripts/generate-shim-table generates it from the headers that ship with
// torch. It is the union over releases, because the signature of a symbol never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aoti_dbg {

/// A release of PyTorch: 214 is 2.14.
using TorchRelease = std::uint16_t;

enum class ShimKind : std::uint8_t {
    op,          // computes or fills tensors: aoti_torch_cpu_addmm_out, aoti_torch_cuda_sort_stable
    proxy,       // aoti_torch_proxy_executor_call_function
    dispatcher,  // aoti_torch_call_dispatcher and similar: an argument names the op
    bookkeeping  // everything else: handles, sizes, guards, allocation
};

/// A part of the table's text. It is a position and not a pointer, because the loader relocates every pointer
/// of a preloaded library in every process, also in those that have no model.
class ShimText {
  public:
    constexpr ShimText(std::int32_t begin, std::uint32_t size) : begin_(begin), size_(size) {}
    /// A text outside the table, in the same library or program. Tests write signatures with it.
    static ShimText outside(std::string_view text);
    operator std::string_view() const;
    [[nodiscard]] std::string_view view() const { return *this; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    char operator[](std::size_t index) const { return view()[index]; }
    friend bool operator==(const ShimText& text, std::string_view other) { return text.view() == other; }

  private:
    std::int32_t begin_;  // from the start of the table's text
    std::uint32_t size_;
};

/// `Text` is std::string_view in the generated table.
template <class Text>
struct ShimRow {
    Text name;     // for example aoti_torch_cpu_sort_stable
    Text printed;  // the op in PyTorch's debug printer: at::_ops::sort_stable::call
    Text args;     // one letter per argument, in order; shim_table.inc explains the letters
    Text mutates;  // one character per argument: 'm' if the op writes to it, else '-'
    ShimKind kind;
    std::uint8_t integers;  // arguments in integer registers, then on the stack
    std::uint8_t floats;    // arguments in vector registers, then on the stack
    Text names;             // names of an op's arguments, in order, separated by blanks; may be empty
};

struct ShimSignature : ShimRow<ShimText> {
    /// Returns the name of an argument, or "" if it has none.
    [[nodiscard]] std::string_view name_of(std::size_t argument) const;
    /// Returns the op as the debug printer of that release writes it: `printed` or `name`.
    [[nodiscard]] std::string_view printed_by(TorchRelease release) const;
    [[nodiscard]] unsigned stack_words() const {
        return (integers > 6U ? integers - 6U : 0U) + (floats > 8U ? floats - 8U : 0U);
    }
};

/// Returns the signature of a shim function, or null if no release in the table has it.
const ShimSignature* find_shim(std::string_view name);

}  // namespace aoti_dbg
