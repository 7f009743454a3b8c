// Whose kernel can have made a context fail, where no core dump tells it.
#pragma once

#include <optional>

#include "triage/gather/kept_packages.hpp"
#include "triage/gather/recorded_calls.hpp"

namespace aoti_dbg {

/// The launch that it was, or likely was: by completion markers; else by the sources that were kept,
/// where of the launches that no call has waited for one asserts. Where there are several they are the
/// report's suspects. Nothing where the report has better to go by.
std::optional<ring::Call> find_suspects(const KeptPackages& packages, const ring::Contents& ring,
                                        const RecordedCalls& calls, CrashReport& report);

}  // namespace aoti_dbg
