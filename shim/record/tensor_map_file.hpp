// Writes the map of tensors (serializer/tensor_map_format.hpp): one file per process, with a ring of slots.
// Every thread can write without a lock, because each writes slots of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/cache_line.hpp"
#include "base/status.hpp"
#include "serializer/tensor_map_format.hpp"
#include "shim/record/mapped_entry.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

/// Enough for the tensors that a large model creates in several runs.
inline constexpr std::size_t kTensorSlots = 16384;

class TensorMapFile {
  public:
    /// Rounds `slots` up to a power of two.
    static Result<std::unique_ptr<TensorMapFile>> create(const std::string& path,
                                                         std::size_t slots = kTensorSlots);

    /// Adds `tensor`, whose number must be 0, and returns its new number. `change` gets the copy in the file
    /// before anyone can read it.
    template <typename Change>
    std::uint64_t add(const tensors::Slot& tensor, Change change) {
        const std::uint64_t number = __atomic_add_fetch(&header().made, 1, __ATOMIC_RELAXED);
        tensors::Slot& slot = slot_of(number);
        publish(slot.number, std::uint64_t{0});
        order_stores();
        slot = tensor;
        change(slot);
        publish(slot.number, number);
        const tensors::Slot& next = slot_of(number + 1);
        expect_to_write(&next);
        expect_to_write(&next.name);
        return number;
    }
    std::uint64_t add(const tensors::Slot& tensor) {
        return add(tensor, [](const tensors::Slot& /*written*/) {});
    }
    /// Ends the tensor with this number if its slot is not reused yet.
    void end(std::uint64_t number, tensors::End end, std::uint64_t sequence);

  private:
    TensorMapFile(PreallocatedFile file, char* mapped, std::size_t slots);
    [[nodiscard]] tensors::FileHeader& header() const {
        return *reinterpret_cast<tensors::FileHeader*>(mapped_);
    }
    [[nodiscard]] tensors::Slot& slot_of(std::uint64_t number) const {
        return reinterpret_cast<tensors::Slot*>(mapped_ + tensors::kPage)[(number - 1) & (slots_ - 1)];
    }

    PreallocatedFile file_;
    char* mapped_;
    std::size_t slots_;  // a power of two, because a division would cost as much as the rest
};

}  // namespace aoti_dbg
