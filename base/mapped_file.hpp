// A read-only file mapping that lives as long as the object.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace aoti_dbg {

class MappedFile {
  public:
    /// If the file is truncated while mapped, the removed bytes become unreadable.
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
