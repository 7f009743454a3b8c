#include "shim/measure/known_measurements.hpp"

#include <utility>

namespace aoti_dbg {
namespace {

// This is more than the names in use at one time in any run. A tensor that does not fit is measured each
// time.
constexpr std::size_t kMostKnown = 1024;

}  // namespace

bool KnownMeasurements::find_named(const PlannedArgument& argument, Requested requested,
                                   std::uint64_t valid_since, SeenTensor& seen, Measurement& found) const {
    const std::uint32_t name = argument.name_number;
    for (std::size_t i = newest_named_[place_of_name(name)]; i != kNoNumber; i = known_[i].older_named) {
        const Known& known = known_[i];
        if (known.name != name || known.facts == nullptr || known.requested != requested) continue;
        if (known.measurement.ticket < valid_since) continue;
        seen = {known.address, known.facts};
        found = known.measurement;
        return true;
    }
    return false;
}

void KnownMeasurements::add(const PlannedArgument& argument, const SeenTensor& seen, Requested requested,
                            const Measurement& measurement) {
    if (known_.size() >= kMostKnown) return;
    if (known_.capacity() == 0) {
        // Both at once, so that they stay of the same length if memory runs out.
        extents_.reserve(kMostKnown);
        known_.reserve(kMostKnown);
    }
    const SeenFacts& facts = *seen.facts;
    const Extent extent{seen.address, seen.address + facts.covered_bytes};
    hull_ = {std::min(hull_.begin, extent.begin), std::max(hull_.end, extent.end)};
    extents_.push_back(extent);
    Known& known = known_.emplace_back();
    known.address = seen.address;
    known.likeness = facts.likeness_for(requested);
    known.requested = requested;
    known.measurement = measurement;
    known.name = argument.name_number;
    known.facts = argument.is_whole() ? &facts : nullptr;
    link(known_.size() - 1);
}

void KnownMeasurements::link(std::size_t i) {
    const auto number = static_cast<std::uint16_t>(i);
    Known& known = known_[i];
    known.older = std::exchange(newest_[place_of(known.address)], number);
    known.older_named = std::exchange(newest_named_[place_of_name(known.name)], number);
}

void KnownMeasurements::unlink(std::size_t i) {
    const Known& known = known_[i];
    std::uint16_t* link = &newest_[place_of(known.address)];
    while (*link != i)
        link = &known_[*link].older;
    *link = known.older;
    link = &newest_named_[place_of_name(known.name)];
    while (*link != i)
        link = &known_[*link].older_named;
    *link = known.older_named;
}

void KnownMeasurements::forget_overlapping(const MemoryPart& memory) {
    for (std::size_t i = extents_.size(); i-- > 0;)
        if (extents_[i].overlaps(memory)) forget(i);
}

void KnownMeasurements::forget(std::size_t i) {
    const std::size_t last = known_.size() - 1;
    unlink(i);
    if (i != last) {
        unlink(last);
        known_[i] = known_[last];
        extents_[i] = extents_[last];
        link(i);
    }
    known_.pop_back();
    extents_.pop_back();
}

void KnownMeasurements::forget_all_but(std::uint32_t sequence) {
    for (std::size_t i = known_.size(); i-- > 0;)
        if (known_[i].measurement.sequence != sequence) forget(i);
}

void KnownMeasurements::forget_all() {
    if (known_.empty()) return;
    newest_.fill(kNoNumber);
    newest_named_.fill(kNoNumber);
    known_.clear();
    extents_.clear();
    hull_ = {UINT64_MAX, 0};
}

}  // namespace aoti_dbg
