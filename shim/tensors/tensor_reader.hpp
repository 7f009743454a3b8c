// Resolves a tensor handle to the address of its elements and the facts about it. Known facts are reused, so
// a known tensor costs a few getter calls and no allocation. It must not read the tensor's elements.
#pragma once

#include <array>
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
    std::uint64_t covered_bytes = 0;  // from element 0 on, including gaps
    bool is_on_device = false;        // it can be measured there, and has elements
    bool has_known_bytes = false;     // covered_bytes and the meaning of the bytes are known
    TensorJob jobs[2];  // for a device: the job that ignores the element order, then the one that needs it
    std::uint64_t likeness[2] = {};  // for the same two, see likeness_for()

    [[nodiscard]] bool is_measurable() const { return unmeasured.empty(); }
    [[nodiscard]] TensorView view(std::uint64_t address) const {
        return {reinterpret_cast<const void*>(address), measured_dtype, sizes, strides, bits};
    }
    [[nodiscard]] const TensorJob& job(Requested requested) const {
        return jobs[depends_on_order(requested) ? 1 : 0];
    }
    /// Tensors at the same address with the same number have the same results. A view of all elements is like
    /// the tensor.
    [[nodiscard]] std::uint64_t likeness_for(Requested requested) const {
        return likeness[depends_on_order(requested) ? 1 : 0];
    }
    /// The shape of the results that `blocks` blocks produce on a device.
    [[nodiscard]] ResultShape result_shape(Requested requested, std::uint32_t blocks) const {
        return {blocks, measured_dtype, requested, value_bytes(measured_dtype, requested, count)};
    }
};

struct SeenTensor {
    std::uint64_t address = 0;         // of element 0
    const SeenFacts* facts = nullptr;  // owned by its reader
};

/// Returns one more than the offset of the last element, or 0 without elements. Returns nothing if the value
/// does not fit.
std::optional<std::uint64_t> reach(std::span<const std::int64_t> sizes,
                                   std::span<const std::int64_t> strides);

using FactsPtr = std::unique_ptr<const SeenFacts>;

/// Belongs to one thread. The facts stay valid until the owner takes the forgotten ones. There is no
/// reference count because it would make threads share counters for each argument of each call.
class TensorReader {
  public:
    /// Returns false if the handle has no tensor. `handle` must not be null.
    bool read(const ShimApi& api, TensorHandle handle, SeenTensor& seen);

    /// Does the same as read() for a tensor with nothing known but its address.
    static SeenTensor only_address(std::uint64_t address);

    /// Returns facts that the reader will not hand out again. Keep them until no event refers to them.
    /// Usually empty.
    [[nodiscard]] std::vector<FactsPtr> take_forgotten() { return std::exchange(forgotten_, {}); }
    /// Returns all facts that the reader ever handed out.
    [[nodiscard]] std::vector<FactsPtr> take_all();

  private:
    struct Raw;
    struct KnownTensor {
        std::uint64_t hash = 0;
        std::int32_t dtype_code = 0;
        std::int32_t device_type = 0;
        FactsPtr facts;
    };
    using Table = std::vector<KnownTensor>;
    static bool is_same(const KnownTensor& known, const Raw& raw);
    static void prepare_jobs(const Raw& raw, SeenFacts& facts);
    static std::int64_t needed_storage(const ShimApi& api, const Raw& raw);
    const SeenFacts* facts_of(const ShimApi& api, TensorHandle handle, const Raw& raw);
    const SeenFacts* look_up(const ShimApi& api, const Raw& raw, std::uint16_t& place_of_last);

    void forget();

    Table known_;  // hash table with open addressing
    // By handle: the place of the facts that it had last. Handles return in the next run, as other memory
    // does.
    std::array<std::uint16_t, 256> last_places_{};
    std::size_t used_ = 0;
    std::vector<FactsPtr> forgotten_;
};

}  // namespace aoti_dbg
