#include "shim/measure/kept_constants.hpp"

namespace aoti_dbg {
namespace {

// Only a program that updates its weights very often reaches this. Constants are then measured each time.
constexpr std::size_t kMostKept = 65536;

}  // namespace

const KeptConstants::Found* KeptConstants::find(const PlannedArgument& argument, const ConstantsOwner& owner,
                                                FoundByThread& last) {
    Found& found = last[argument.number % last.size()];
    if (found.argument != &argument || found.owner != owner || found.kept == nullptr)
        found = find_shared(argument, owner);
    return found.kept == nullptr ? nullptr : &found;
}

KeptConstants::Found KeptConstants::find_shared(const PlannedArgument& argument,
                                                const ConstantsOwner& owner) {
    const std::lock_guard lock(mutex_);
    const auto known = numbers_.find({&argument, owner.container});
    if (known == numbers_.end()) return {};
    const Place& place = places_[known->second];
    if (place.state != State::ready || place.version != owner.version) return {};
    return {&argument, owner, known->second, &place.kept};
}

std::uint32_t KeptConstants::expect(const PlannedArgument& argument, const SeenTensor& seen,
                                    const ConstantsOwner& owner, std::uint32_t call) {
    const std::lock_guard lock(mutex_);
    if (places_.size() >= kMostKept) return kNotKept;
    const auto [known, is_new] = numbers_.try_emplace(std::pair(&argument, owner.container),
                                                      static_cast<std::uint32_t>(places_.size()));
    // Queued calls may refer to what is kept, so a new version gets a new place.
    if (!is_new && places_[known->second].state == State::expected) return kNotKept;
    known->second = static_cast<std::uint32_t>(places_.size());
    Place& place = places_.emplace_back();
    place.kept.facts = *seen.facts;
    place.kept.address = seen.address;
    place.kept.call = call;
    place.state = State::expected;
    place.version = owner.version;
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
