// What the wrapper source says of the tensor that an argument is: dtype, sizes, strides, and whose memory it
// has. Takes any texts. Pure.
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
        unknown,  // an op has returned it, or it is a view of which nothing more is known
        run,      // the run has made it, as room for what calls write
        input,
        constant,
    };
    Owner owner = Owner::unknown;
    std::string name;   // of that memory, as its owner calls it
    std::string dtype;  // float32; empty: the source does not say it
    bool has_sizes = false;
    std::vector<std::string> sizes;    // expressions; "?" where the source does not say one
    std::vector<std::string> strides;  // of as many dimensions
    std::string offset;                // in elements from the beginning of that memory; empty: there
    /// Not what the source makes of it, but what it relies on: inputs and constants come from outside.
    bool is_expected = false;

    /// Up to its last element, gaps included; 0 where that is not known, or there is none.
    [[nodiscard]] std::uint64_t bytes(const Symbols& symbols) const;
    /// From the beginning of that memory to its first element.
    [[nodiscard]] std::optional<std::uint64_t> bytes_before(const Symbols& symbols) const;
    /// "8", "s77", with numbers where they are known.
    [[nodiscard]] std::vector<std::string> sizes_as_known(const Symbols& symbols) const;
};

/// `tensor` as call site `site` has it.
TensorLayout layout_of(const WrapperInfo& info, std::uint32_t site, const TensorName& tensor);

/// The symbol in the sizes of what the run has made as `name`, if it is the only one that is not known, out
/// of how many bytes that has. Of several of that name nothing is known.
void solve_by_bytes(const WrapperInfo& info, const std::string& name, std::uint64_t bytes, Symbols& symbols);

}  // namespace aoti_dbg
