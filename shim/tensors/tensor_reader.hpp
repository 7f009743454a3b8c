// What a tensor handle stands for: where its elements lie and what is known of them. Facts that were read
// before are found again, so that a known tensor costs a few calls of getters and no allocation. Reads
// nothing of the tensor's elements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "serializer/measured_event.hpp"
#include "shim/runtime/shim_api.hpp"
#include "stats_kernels/launch_plan.hpp"

namespace aoti_dbg {

enum class Place : std::uint8_t { cpu, cuda, elsewhere };

struct SeenFacts : TensorFacts {
    Place place = Place::elsewhere;
    std::int32_t device_index = -1;
    std::uint64_t count = 0;          // elements
    std::uint64_t covered_bytes = 0;  // from element 0 on, gaps included
    bool has_known_bytes = false;     // these, and what they mean
    TensorJob jobs[2];                // on a device: where the order does not matter, where it does

    [[nodiscard]] bool is_measurable() const { return unmeasured.empty(); }
    [[nodiscard]] TensorView view(std::uint64_t address) const {
        return {reinterpret_cast<const void*>(address), measured_dtype, sizes, strides, bits};
    }
    [[nodiscard]] const TensorJob& job(Wanted wanted) const { return jobs[depends_on_order(wanted) ? 1 : 0]; }
    /// Of what so many blocks leave of it on a device.
    [[nodiscard]] ResultShape result_shape(Wanted wanted, std::uint32_t blocks) const {
        return {blocks, measured_dtype, wanted, value_bytes(measured_dtype, wanted, count)};
    }
};

struct SeenTensor {
    std::uint64_t address = 0;         // of element 0
    const SeenFacts* facts = nullptr;  // its reader's
};

/// One more than the last element's number in memory; 0 without elements, nothing where that is no number.
std::optional<std::uint64_t> reach(std::span<const std::int64_t> sizes,
                                   std::span<const std::int64_t> strides);

using FactsPtr = std::unique_ptr<const SeenFacts>;

/// Of one thread. What it tells of is its own until who has it takes what it has forgotten. Nobody counts who
/// else tells of the same: that would be a look at what other threads count, for each argument of each call.
class TensorReader {
  public:
    /// False where there is no tensor behind it. `handle` is not null.
    bool read(const ShimApi& api, TensorHandle handle, SeenTensor& seen);

    /// As read(), of a tensor of which only the address is known.
    static SeenTensor only_address(std::uint64_t address);

    /// What it will not tell of again: to be kept until nobody tells of it any more. Mostly nothing.
    [[nodiscard]] std::vector<FactsPtr> take_forgotten() { return std::exchange(forgotten_, {}); }
    /// The same, of all that it has ever told of.
    [[nodiscard]] std::vector<FactsPtr> take_all();

  private:
    struct Raw;
    struct Known {
        std::uint64_t hash = 0;
        std::int32_t dtype_code = 0;
        std::int32_t device_type = 0;
        FactsPtr facts;
    };
    using Table = std::vector<Known>;
    static bool is_same(const Known& known, const Raw& raw);
    const SeenFacts* facts_of(const ShimApi& api, const Raw& raw);

    void forget();

    Table known_;  // by hash, open addressing
    std::size_t used_ = 0;
    std::vector<FactsPtr> forgotten_;
};

}  // namespace aoti_dbg
