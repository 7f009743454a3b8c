// Finds the kernels that may have made a context fail when no core dump identifies one.
#pragma once

#include <optional>

#include "triage/gather/kept_packages.hpp"
#include "triage/gather/recorded_calls.hpp"

namespace aoti_dbg {

/// Returns the launch that did, or likely did. The evidence is completion markers, or else the only launch
/// with an assertion among those not known to have ended. Several candidates become the report's suspects.
/// Returns nothing if the report has better evidence.
std::optional<ring::Call> find_suspects(const KeptPackages& packages, const ring::Contents& ring,
                                        const RecordedCalls& calls, Evidence& evidence);

}  // namespace aoti_dbg
