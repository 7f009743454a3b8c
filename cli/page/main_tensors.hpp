// The statistics of one tensor on each side of each row, for the rows whose details do not fit. They take a
// tenth of the space of the details.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/page/page_data.hpp"

namespace aoti_dbg::cli {

/// Appends three characters of base64: the first 18 bits of the number as a float, rounded. They hold three
/// digits. A number that is not zero and no normal float becomes kUnknown.
void append_packed(double number, std::string& out);

/// Returns the tensor that stands for what a call reads (`is_after` is false) or writes. The page chooses the
/// same (data.js). Null if there is none.
const RowTensor* main_tensor(const PageSite& site, const std::vector<RowTensor>& tensors, bool is_after);

/// Returns the member `main` of the page's data, with a comma before it.
std::string main_tensors_json(const Page& page, const std::vector<std::uint32_t>& rows);

}  // namespace aoti_dbg::cli
