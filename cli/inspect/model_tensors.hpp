// The inputs, outputs and constants of a model, from its wrapper source. Pure.
#pragma once

#include <vector>

#include "cli/inspect/inspected_model.hpp"

namespace aoti_dbg::cli {

std::vector<ModelTensor> inputs_of(const WrapperInfo& info);
std::vector<ModelOutput> outputs_of(const WrapperInfo& info);
std::vector<ModelConstant> constants_of(const WrapperInfo& info);

}  // namespace aoti_dbg::cli
