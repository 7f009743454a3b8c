#include "serializer/event_words.hpp"

namespace aoti_dbg {
namespace {

SiteFacts* unknown_site() {
    auto* facts = new SiteFacts;
    facts->kernel = "?";
    return facts;
}

ArgumentFacts* unknown_argument() {
    auto* facts = new ArgumentFacts;
    facts->label = "?";
    return facts;
}

}  // namespace

std::string_view reason_text(const MeasuredArgument& argument) {
    if (argument.measured == Measured::not_yet) return "the GPU did not reach this call";
    if (argument.tensor != nullptr && !argument.tensor->unmeasured.empty())
        return argument.tensor->unmeasured;
    if (argument.why_not != nullptr && *argument.why_not != '\0') return argument.why_not;
    return "reason unknown";
}

// Never destroyed, because threads outlive static destruction.

const SiteFacts& site_or_unknown(const MeasuredCall& call) {
    static const SiteFacts* const unknown = unknown_site();
    return call.site == nullptr ? *unknown : *call.site;
}

const ArgumentFacts& facts_or_unknown(const MeasuredArgument& argument) {
    static const ArgumentFacts* const unknown = unknown_argument();
    return argument.facts == nullptr ? *unknown : *argument.facts;
}

}  // namespace aoti_dbg
