#include "shim/measure/kept_constants.hpp"

namespace aoti_dbg {
namespace {

// Beyond this, constants are measured each time: a program that updates its weights very often.
constexpr std::size_t kMostKept = 65536;

}  // namespace

std::uint32_t KeptConstants::find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto known = numbers_.find(key.argument);
    if (known == numbers_.end()) return kNotKept;
    const Place& place = places_[known->second];
    const bool is_same = place.version == key.version && place.passed == key.passed;
    return place.state == State::ready && is_same ? known->second : kNotKept;
}

std::uint32_t KeptConstants::expect(const Key& key, const SeenTensor& seen, std::uint32_t call) {
    const std::lock_guard lock(mutex_);
    if (places_.size() >= kMostKept) return kNotKept;
    const auto [known, is_new] =
        numbers_.try_emplace(key.argument, static_cast<std::uint32_t>(places_.size()));
    // Queued calls may refer to what is kept, so a new version gets a new place.
    if (!is_new && places_[known->second].state == State::expected) return kNotKept;
    known->second = static_cast<std::uint32_t>(places_.size());
    Place& place = places_.emplace_back();
    place.kept.facts = *seen.facts;
    place.kept.address = seen.address;
    place.kept.call = call;
    place.state = State::expected;
    place.passed = key.passed;
    place.version = key.version;
    return known->second;
}

const KeptConstants::Kept& KeptConstants::at(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    return places_[number].kept;
}

void KeptConstants::fill(std::uint32_t number, const TensorPartial* partial) {
    const std::lock_guard lock(mutex_);
    Place& place = places_[number];
    if (partial != nullptr) place.kept.partial = *partial;
    place.state = partial == nullptr ? State::empty : State::ready;
}

}  // namespace aoti_dbg
