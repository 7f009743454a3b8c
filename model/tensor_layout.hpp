// Returns what the wrapper source says about an argument's tensor: dtype, sizes, strides and the owner of its
// memory. Accepts any text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/symbols.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

struct TensorLayout {
    enum class Owner : std::uint8_t {
        unknown,  // returned by an op, or a view of unknown memory
        run,      // allocated by the run for the results of calls
        input,
        constant,
    };
    Owner owner = Owner::unknown;
    std::string name;   // its owner's name of the memory
    std::string dtype;  // float32, empty if the source does not say
    bool has_sizes = false;
    std::vector<std::string> sizes;    // expressions, "?" if the source does not say
    std::vector<std::string> strides;  // one per dimension
    std::string offset;                // in elements from the start of the memory, empty for 0
    /// The source expects this layout but does not define it: inputs and constants come from outside.
    bool is_expected = false;

    /// Returns the bytes up to the last element, including gaps. Returns 0 if that is unknown or there is no
    /// element.
    [[nodiscard]] std::uint64_t bytes(const Symbols& symbols) const;
    /// Returns the bytes from the start of the memory to the first element.
    [[nodiscard]] std::optional<std::uint64_t> bytes_before(const Symbols& symbols) const;
    /// Returns sizes such as "8" or "s77", with numbers for known symbols.
    [[nodiscard]] std::vector<std::string> sizes_as_known(const Symbols& symbols) const;
};

/// Returns the layout of `tensor` at call site `site`.
TensorLayout layout_of(const WrapperInfo& info, std::uint32_t site, const TensorName& tensor);

/// Solves for the only unknown symbol in the sizes of the allocation `name`, which has `bytes` bytes. Does
/// nothing if several allocations have that name.
void solve_by_bytes(const WrapperInfo& info, const std::string& name, std::uint64_t bytes, Symbols& symbols);

}  // namespace aoti_dbg
