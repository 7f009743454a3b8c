// What is known of a tensor that a model creates, from the last tensor that was created at the same place of
// a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "shim/runtime/stub_frame.hpp"
#include "shim/tensors/tensor_lifetimes.hpp"

namespace aoti_dbg {

// Facts are kept for this many tensors of a run. All further tensors share one entry.
inline constexpr std::size_t kMostBefore = 4096;

/// The arguments of aoti_torch_empty_strided.
struct MakeArguments {
    explicit MakeArguments(const StubFrame& frame)
        : rank(frame.integer(0)),
          sizes(reinterpret_cast<const std::int64_t*>(frame.integer(1))),
          strides(reinterpret_cast<const std::int64_t*>(frame.integer(2))),
          dtype(static_cast<std::int32_t>(frame.integer(3))),
          device_type(static_cast<std::int32_t>(frame.integer(4))),
          returned(reinterpret_cast<const TensorHandle*>(frame.integer(6))) {}

    [[nodiscard]] bool can_be_right() const {
        return rank <= kMaxRank && (rank == 0 || (sizes != nullptr && strides != nullptr));
    }

    std::uint64_t rank;
    const std::int64_t* sizes;
    const std::int64_t* strides;
    std::int32_t dtype;
    std::int32_t device_type;
    const TensorHandle* returned;
};

/// Writes the name into the slot, and shortens it if necessary.
void set_name(std::string_view name, tensors::Slot& slot);

template <typename Before>
[[gnu::noinline]] Before& new_nth(std::vector<Before>& all, std::uint32_t number) {
    const std::size_t place = std::min<std::size_t>(number, kMostBefore);
    if (all.size() <= place) all.resize(place + 1);
    return all[place];
}

template <typename Before>
Before& nth(std::vector<Before>& all, std::uint32_t number) {
    return number < all.size() ? all[number] : new_nth(all, number);
}

inline bool is_same(const CreatedBefore& before, const RunTensors& tensors, std::uint32_t since_site,
                    const MakeArguments& made) {
    if (made.rank > CreatedBefore::kMostRank || before.site != tensors.site ||
        before.since_site != since_site || before.is_placed != tensors.is_placed ||
        before.dtype != made.dtype || before.device_type != made.device_type || before.rank != made.rank)
        return false;
    for (std::size_t i = 0; i < made.rank; ++i)
        if (before.sizes[i] != made.sizes[i] || before.strides[i] != made.strides[i]) return false;
    return true;
}

/// Finds the facts of a tensor that was not created there before.
void find_out(const MeasuredModel& model, const RunTensors& tensors, std::uint32_t since_site,
              const MakeArguments& made, CreatedBefore& found);

/// Returns the facts of the tensor that was just created.
inline const CreatedBefore& known_as(const MeasuredModel& model, RunTensors& tensors,
                                     const MakeArguments& made) {
    const std::uint32_t since_site = tensors.created_since++;
    CreatedBefore& known = nth(tensors.before->made, tensors.made++);
    if (!is_same(known, tensors, since_site, made)) find_out(model, tensors, since_site, made, known);
    return known;
}

}  // namespace aoti_dbg
