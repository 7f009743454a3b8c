// What was measured of a model's constants, for checks of values. A constant that no call site writes keeps
// its contents until the model's constants change, so each is measured once. Launching threads ask, and the
// drain thread fills in results.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"
#include "stats_kernels/partial.hpp"

namespace aoti_dbg {

inline constexpr std::uint32_t kNotKept = ~std::uint32_t{0};

/// Whose constants they are. Containers of one model may have different ones.
struct ConstantsOwner {
    std::uint64_t container = 0;
    std::uint32_t version = 0;
    bool operator==(const ConstantsOwner&) const = default;
};

class KeptConstants {
  public:
    struct Kept {
        SeenFacts facts;
        std::uint64_t address = 0;
        std::uint32_t call = 0;  // at which it was measured
        TensorPartial partial;
    };

    /// What is kept of a constant that a call site passes, with its number.
    struct Found {
        const PlannedArgument* argument = nullptr;
        ConstantsOwner owner;
        std::uint32_t number = kNotKept;
        const Kept* kept = nullptr;
    };
    /// What each thread found last, by ArgumentFacts::number. Kept results never change.
    using FoundByThread = std::array<Found, 512>;

    /// Returns null if nothing is kept of the constant. `last` belongs to the calling thread.
    const Found* find(const PlannedArgument& argument, const ConstantsOwner& owner, FoundByThread& last);
    /// Makes place for a result that is on its way. Returns kNotKept if another one is.
    std::uint32_t expect(const PlannedArgument& argument, const SeenTensor& seen, const ConstantsOwner& owner,
                         std::uint32_t call);

    /// The number must come from expect(), and fill() must have followed.
    [[nodiscard]] const Kept& at(std::uint32_t number);
    /// The expected result has arrived. Null means that it never will.
    void fill(std::uint32_t number, const TensorPartial* partial);

  private:
    Found find_shared(const PlannedArgument& argument, const ConstantsOwner& owner);

    enum class State : std::uint8_t { empty, expected, ready };
    struct Place {
        Kept kept;
        State state = State::empty;
        std::uint32_t version = 0;
    };
    std::mutex mutex_;
    std::map<std::pair<const PlannedArgument*, std::uint64_t>, std::uint32_t> numbers_;
    std::deque<Place> places_;
};

}  // namespace aoti_dbg
