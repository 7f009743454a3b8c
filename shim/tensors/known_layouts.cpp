#include "shim/tensors/known_layouts.hpp"

namespace aoti_dbg {

void KnownLayouts::keep(const PlannedArgument& argument, std::uint32_t run, const SeenFacts* facts) {
    if (argument.layout == kNone) return;
    if (argument.layout >= known_.size()) known_.resize(argument.layout + 1);
    Known& known = known_[argument.layout];
    if (known.run == ring::kNoRun)
        known = {facts, run};
    else if (known.facts != facts)
        known.facts = nullptr;
}

}  // namespace aoti_dbg
