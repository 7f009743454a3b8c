#include "shim/tensors/retired_facts.hpp"

#include <utility>

#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

void RetiredFacts::keep(std::vector<FactsPtr> facts) {
    if (facts.empty()) return;
    const std::uint64_t written = written_.load(std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    kept_.push_back({written + kCallsKept, std::move(facts)});
    while (kept_.front().until <= written)
        kept_.pop_front();
}

void retire_facts(std::vector<FactsPtr> facts) {
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    RetiredFacts* const retired = session == nullptr ? nullptr : session->part<RetiredFacts>();
    if (retired != nullptr) return retired->keep(std::move(facts));
    // Without a part it is unknown what still refers to the facts, so they leak on purpose.
    for (FactsPtr& each : facts)
        static_cast<void>(each.release());
}

}  // namespace aoti_dbg
