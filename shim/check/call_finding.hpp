// A finding about the arguments of a call, put together from what is known of the call, and told.
#pragma once

#include "serializer/finding.hpp"
#include "shim/check/mismatch.hpp"
#include "shim/tensors/site_plan.hpp"

namespace aoti_dbg {

void add_site(const SiteFacts& site, Finding& finding);

/// `tensor` is null where nothing but the argument is known.
void add_tensor(const ArgumentFacts& argument, const TensorFacts* tensor, Finding& finding);

/// On disk when it comes back, unless it is known already or suppressed.
void tell(Finding finding, Mismatch mismatch);

}  // namespace aoti_dbg
