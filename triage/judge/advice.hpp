// Suggests what to try next after a crash of a class. It has no side effects.
#pragma once

#include <string>
#include <vector>

#include "serializer/cuda_error.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

std::vector<std::string> advice_for(CrashClass kind, const Evidence& evidence);

}  // namespace aoti_dbg
