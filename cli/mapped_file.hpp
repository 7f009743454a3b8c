// A file as bytes in memory, to read from. Gone from memory with the object.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.hpp"

namespace aoti_dbg::cli {

class MappedFile {
  public:
    /// Of a file that is cut while it is mapped, the bytes that go are not readable any more.
    static Result<MappedFile> open(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  private:
    explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::span<const std::byte> bytes_;
};

}  // namespace aoti_dbg::cli
