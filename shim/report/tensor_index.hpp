// index.jsonl beside the saved tensors: each line is whole or not there, and is appended by one write. Its
// descriptor stays open only where it is out of the program's reach. Not thread-safe: who appends holds a
// lock of his own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "shim/report/file_calls.hpp"
#include "shim/report/tensor_folder.hpp"

namespace aoti_dbg {

class TensorIndex {
  public:
    static constexpr const char* kName = "index.jsonl";

    /// `folder` outlives it.
    explicit TensorIndex(const TensorFolder& folder) : folder_(folder) {}

    /// Makes the file with its first line.
    Failed create(std::string_view header);
    /// All of it, or, where that fails, nothing.
    Failed append(std::string_view lines);

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::string path() const { return folder_.home() + "/" + kName; }

  private:
    Failed open_again();
    Failed write(std::string_view lines);

    const TensorFolder& folder_;
    std::optional<Descriptor> file_;
    unsigned uses_ = 0;  // since it was opened
    std::uint64_t bytes_ = 0;
    bool ends_torn_ = false;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace aoti_dbg
