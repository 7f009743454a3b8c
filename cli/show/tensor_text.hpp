// Renders a saved tensor as text, at most one screen.
#pragma once

#include <string>

#include "serializer/pt_reader.hpp"

namespace aoti_dbg::cli {

/// Returns whole lines.
std::string tensor_text(const PtView& tensor);

}  // namespace aoti_dbg::cli
