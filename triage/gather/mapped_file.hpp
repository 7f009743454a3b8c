// A file as bytes in memory, to read from. Gone from memory with the object.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace aoti_dbg {

class MappedFile {
  public:
    /// Of a file that is cut while it is mapped, the bytes that go are not readable any more.
    static Result<MappedFile> open(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    [[nodiscard]] std::string_view text() const {
        return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
    }

  private:
    explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::span<const std::byte> bytes_;
};

}  // namespace aoti_dbg
