// From what was measured to the plain structs of a finding. Decides nothing.
#pragma once

#include <string>
#include <vector>

#include "serializer/finding.hpp"
#include "shim/check/finding_pattern.hpp"

namespace aoti_dbg {

/// Whether `argument` is a tensor whose statistics are there.
bool has_statistics(const MeasuredArgument& argument);

/// Why not; empty where they are.
std::string why_unmeasured(const MeasuredArgument& argument);

FindingTensor finding_tensor(const MeasuredArgument& argument);

/// The bytes from its address on that a tensor may reach; of one that has negative strides or is not known,
/// of one element.
std::uint64_t reach_of(const MeasuredArgument& argument);

/// Another argument of the call that is not read-only and whose memory overlaps; null where there is none. A
/// kernel can get a buffer to read, and the same buffer or a view of it to write.
const MeasuredArgument* writer_of(const MeasuredCall& call, const MeasuredArgument& argument);

/// All but the inputs, the other outputs and the notes.
Finding finding_of(const MeasuredCall& call, Finding::Kind kind, const MeasuredArgument& argument,
                   Wrong wrong);

}  // namespace aoti_dbg
