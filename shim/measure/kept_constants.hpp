// Measurements of a model's constants, for checks of values. A constant keeps its contents from run to run
// until a container changes, so each is measured once. Launching threads ask, and the drain thread fills in
// results.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"
#include "stats_kernels/partial.hpp"

namespace aoti_dbg {

inline constexpr std::uint32_t kNotKept = ~std::uint32_t{0};

class KeptConstants {
  public:
    struct Kept {
        SeenFacts facts;
        std::uint64_t address = 0;
        std::uint32_t call = 0;  // that it was measured at
        TensorPartial partial;
    };

    /// A constant that a call site passes. Containers of one model pass different ones.
    struct Key {
        const PlannedArgument* argument = nullptr;
        std::uint64_t passed = 0;   // its handle, or else its address
        std::uint32_t version = 0;  // container_changes()
    };

    /// Returns the number of what is kept of the constant, or kNotKept.
    std::uint32_t find(const Key& key);
    /// Reserves a place for a result that is on its way. Returns kNotKept if one is on its way already.
    std::uint32_t expect(const Key& key, const SeenTensor& seen, std::uint32_t call);

    /// The number must come from find(), or from expect() if fill() follows.
    [[nodiscard]] const Kept& at(std::uint32_t number);
    /// The expected result has arrived. Null: it never will.
    void fill(std::uint32_t number, const TensorPartial* partial);

  private:
    enum class State : std::uint8_t { empty, expected, ready };
    struct Place {
        Kept kept;
        State state = State::empty;
        std::uint64_t passed = 0;
        std::uint32_t version = 0;
    };
    std::mutex mutex_;
    std::unordered_map<const PlannedArgument*, std::uint32_t> numbers_;
    std::deque<Place> places_;
};

}  // namespace aoti_dbg
