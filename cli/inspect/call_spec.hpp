// Where a model's inputs and outputs are in the call of the exported module, from the specs that the wrapper
// source quotes. Pure. Must accept any text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg::cli {

/// Returns the place of each input, such as `args[0]`, `mask` or `pair[1]["k"]`. Empty if the source does not
/// say.
std::vector<std::string> input_places(std::string_view wrapper_source);

/// Returns the place of each output in the result, such as `[0]` or `["y"]`. It is empty for a single tensor.
std::vector<std::string> output_places(std::string_view wrapper_source);

}  // namespace aoti_dbg::cli
