// Writes the map of tensors (serializer/tensor_map_format.hpp): one file a process, a ring of slots. Any
// thread, without a lock: each writes slots of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "serializer/tensor_map_format.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

/// As many as a large model makes in some runs.
inline constexpr std::size_t kTensorSlots = 16384;

class TensorMapFile {
  public:
    /// Rounded up to a power of two.
    static Result<std::unique_ptr<TensorMapFile>> create(const std::string& path,
                                                         std::size_t slots = kTensorSlots);

    /// `tensor` has no number yet. Returns the one that it gets.
    std::uint64_t add(const tensors::Slot& tensor);
    /// Of the tensor with that number, if its slot is still its own.
    void end(std::uint64_t number, tensors::End end, std::uint64_t sequence);

  private:
    TensorMapFile(PreallocatedFile file, char* mapped, std::size_t slots);
    [[nodiscard]] tensors::FileHeader& header() const;
    [[nodiscard]] tensors::Slot& slot_of(std::uint64_t number) const;

    PreallocatedFile file_;
    char* mapped_;
    std::size_t slots_;  // a power of two: a division would take as long as the rest of it
};

}  // namespace aoti_dbg
