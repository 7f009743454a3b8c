// Random contents that replace those of a tensor. They keep what a kernel needs to run, but not the values.
// Derive nothing from the contents but counts, minimum, maximum, mean and standard deviation from the
// contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "serializer/pt_reader.hpp"

namespace aoti_dbg::cli {

/// Returns a storage for the same view, with zeros outside of the tensor. Floats follow a normal
/// distribution, between the same bounds, and have as many NaN and Inf. Integers are uniform between the same
/// bounds, so indices stay valid. Bools have as many ones. Equal seeds give equal contents.
std::vector<std::byte> random_contents(const PtView& view, std::uint64_t seed);

}  // namespace aoti_dbg::cli
