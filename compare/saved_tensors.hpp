// The elements of tensors that a recording saved as files.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

class SavedTensors {
  public:
    SavedTensors() = default;
    virtual ~SavedTensors() = default;
    SavedTensors(const SavedTensors&) = delete;
    SavedTensors& operator=(const SavedTensors&) = delete;

    [[nodiscard]] virtual bool has(const RecordedTensor& tensor) = 0;
    /// Returns the elements in logical order, or nothing if the tensor was not saved or cannot be read.
    virtual std::optional<std::vector<std::byte>> elements_of(const RecordedTensor& tensor) = 0;
};

}  // namespace aoti_dbg::compare
