// The facts of tensors with fixed layouts, as earlier runs read them. Belongs to one thread and one model.
#pragma once

#include <cstdint>
#include <vector>

#include "serializer/flight_ring_format.hpp"
#include "shim/tensors/site_plan.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

class KnownLayouts {
  public:
    /// What the facts depend on. Another container may be on another device. An op resizes its output if the
    /// inputs of the run have other sizes than the model was compiled for.
    struct Circumstances {
        std::uint64_t container = 0;
        std::uint64_t input_sizes = 0;  // hash
        std::uint32_t changes = 0;      // to containers and constants
        bool operator==(const Circumstances&) const = default;
    };
    /// Forgets all facts if they were read under other circumstances.
    void expect(const Circumstances& now) {
        if (circumstances_ == now) return;
        forget();
        circumstances_ = now;
    }
    void forget() { known_.clear(); }

    /// Returns null if the layout is not fixed, or if no earlier run read it.
    [[nodiscard]] const SeenFacts* find(const PlannedArgument& argument, std::uint32_t run) const {
        if (argument.layout >= known_.size()) return nullptr;
        const Known& known = known_[argument.layout];
        return known.run == run ? nullptr : known.facts;
    }
    /// Keeps what a run reads. `facts` is null if the tensor cannot be measured. If the run shows different
    /// facts of one layout, none are kept.
    void keep(const PlannedArgument& argument, std::uint32_t run, const SeenFacts* facts);

  private:
    struct Known {
        const SeenFacts* facts = nullptr;
        std::uint32_t run = ring::kNoRun;  // the first run that read it
    };
    Circumstances circumstances_;
    std::vector<Known> known_;  // by PlannedArgument::layout
};

}  // namespace aoti_dbg
