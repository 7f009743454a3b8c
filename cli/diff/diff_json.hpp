// What `aoti-dbg diff --format json` prints: one object, documented in docs/reference/diff.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compare/comparison.hpp"

namespace aoti_dbg::cli {

/// The object itself, for a larger document.
nlohmann::ordered_json diff_document(const compare::Comparison& comparison, std::size_t limit);

std::string diff_json(const compare::Comparison& comparison, std::size_t limit);

}  // namespace aoti_dbg::cli
