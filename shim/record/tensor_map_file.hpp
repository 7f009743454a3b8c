// Writes the map of tensors (serializer/tensor_map_format.hpp): one file per process, with a ring of slots.
// Every thread can write without a lock, because each writes slots of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "serializer/tensor_map_format.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

/// Enough for the tensors that a large model creates in several runs.
inline constexpr std::size_t kTensorSlots = 16384;

class TensorMapFile {
  public:
    /// Rounds `slots` up to a power of two.
    static Result<std::unique_ptr<TensorMapFile>> create(const std::string& path,
                                                         std::size_t slots = kTensorSlots);

    /// Adds `tensor`, whose number must be 0, and returns its new number.
    std::uint64_t add(const tensors::Slot& tensor);
    /// Ends the tensor with this number if its slot is not reused yet.
    void end(std::uint64_t number, tensors::End end, std::uint64_t sequence);

  private:
    TensorMapFile(PreallocatedFile file, char* mapped, std::size_t slots);
    [[nodiscard]] tensors::FileHeader& header() const;
    [[nodiscard]] tensors::Slot& slot_of(std::uint64_t number) const;

    PreallocatedFile file_;
    char* mapped_;
    std::size_t slots_;  // a power of two, because a division would cost as much as the rest
};

}  // namespace aoti_dbg
