// The elements of tensors that a recording saved as files.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

struct SavedElements {
    std::span<const std::byte> bytes;  // in logical order
    std::shared_ptr<const void> owner;
};

class SavedTensors {
  public:
    SavedTensors() = default;
    virtual ~SavedTensors() = default;
    SavedTensors(const SavedTensors&) = delete;
    SavedTensors& operator=(const SavedTensors&) = delete;

    [[nodiscard]] virtual bool has(const RecordedTensor& tensor) = 0;
    /// Returns nothing if the tensor was not saved or cannot be read.
    virtual std::optional<SavedElements> elements_of(const RecordedTensor& tensor) = 0;
};

}  // namespace aoti_dbg::compare
