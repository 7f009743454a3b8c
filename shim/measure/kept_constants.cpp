#include "shim/measure/kept_constants.hpp"

namespace aoti_dbg {
namespace {

// Only a program that updates its weights very often reaches this. Constants are then measured each time.
constexpr std::size_t kMostKept = 65536;

}  // namespace

std::uint32_t KeptConstants::find(const PlannedArgument& argument, std::uint32_t version) {
    const std::lock_guard lock(mutex_);
    const auto known = numbers_.find(&argument);
    if (known == numbers_.end()) return kNotKept;
    const Place& place = places_[known->second];
    return place.state == State::ready && place.version == version ? known->second : kNotKept;
}

std::uint32_t KeptConstants::expect(const PlannedArgument& argument, const SeenTensor& seen,
                                    std::uint32_t version, std::uint32_t call) {
    const std::lock_guard lock(mutex_);
    if (places_.size() >= kMostKept) return kNotKept;
    const auto [known, is_new] = numbers_.try_emplace(&argument, static_cast<std::uint32_t>(places_.size()));
    // Queued calls may refer to what is kept, so a new version gets a new place.
    if (!is_new && places_[known->second].state == State::expected) return kNotKept;
    known->second = static_cast<std::uint32_t>(places_.size());
    Place& place = places_.emplace_back();
    place.kept.facts = *seen.facts;
    place.kept.address = seen.address;
    place.kept.call = call;
    place.state = State::expected;
    place.version = version;
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
