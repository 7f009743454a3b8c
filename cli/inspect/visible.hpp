// What aoti-dbg can record of a model, and what it cannot, judged by the model's files. Pure.
// docs/explanation/limits.md has the rules behind it.
#pragma once

#include <vector>

#include "cli/inspect/inspected_model.hpp"

namespace aoti_dbg::cli {

std::vector<Visible> visible_of(const InspectedModel& facts, const WrapperInfo& info);

}  // namespace aoti_dbg::cli
