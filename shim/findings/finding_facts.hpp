// Converts measured arguments to the plain structs of a finding. It must not make decisions.
#pragma once

#include <string>
#include <vector>

#include "serializer/finding.hpp"
#include "shim/findings/finding_pattern.hpp"

namespace aoti_dbg {

/// True if `argument` is a tensor with statistics.
bool has_statistics(const MeasuredArgument& argument);

/// Returns why the statistics are missing, or an empty string if they are available.
std::string why_unmeasured(const MeasuredArgument& argument);

FindingTensor finding_tensor(const MeasuredArgument& argument);

/// Returns the number of bytes that a tensor may cover from its address on. A tensor with negative strides or
/// unknown layout counts as one element.
std::uint64_t reach_of(const MeasuredArgument& argument);

/// Returns another argument of the call that overlaps in memory and is not read-only, or null. A kernel can
/// receive a buffer to read, and the same buffer or a view of it to write.
const MeasuredArgument* writer_of(const MeasuredCall& call, const MeasuredArgument& argument);

/// Adds what is known of the kernel and where it comes from.
void add_site(const SiteFacts& site, Finding& finding);

/// Fills in everything except the inputs, the other outputs and the notes.
Finding finding_of(const MeasuredCall& call, Finding::Kind kind, const MeasuredArgument& argument,
                   Wrong wrong);

}  // namespace aoti_dbg
