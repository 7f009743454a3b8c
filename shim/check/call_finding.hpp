// Builds a finding about the arguments of a call from the facts of the call, and reports it.
#pragma once

#include "serializer/finding.hpp"
#include "shim/check/mismatch.hpp"
#include "shim/findings/finding_facts.hpp"
#include "shim/tensors/site_plan.hpp"

namespace aoti_dbg {

struct OpenCall;
struct ThreadState;

/// Returns a finding with the facts of the call, without the mismatch.
Finding finding_of(ThreadState& state, const OpenCall& call);

/// `tensor` is null if only the argument is known.
void add_tensor(const ArgumentFacts& argument, const TensorFacts* tensor, Finding& finding);

/// Reports a finding. It is on disk when this returns, unless it is already known or suppressed.
void report_mismatch(Finding finding, Mismatch mismatch);

}  // namespace aoti_dbg
