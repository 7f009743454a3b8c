// Finds stored records in a zip archive (zip_format.hpp) that lies in memory. Takes any bytes: every number
// is checked against them before it is used. Copies and keeps nothing; a search takes time in proportion to
// the directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.hpp"

namespace aoti_dbg {

struct ZipRecord {
    std::span<const std::byte> content;
    std::uint32_t crc = 0;  // what the directory says; not checked
};

class ZipReader {
  public:
    /// `file` outlives the reader and what it gives.
    static Result<ZipReader> open(std::span<const std::byte> file);

    /// The record `name` in the folder of the first one, as PyTorch looks for it; nothing if there is none.
    /// Fails for a damaged archive, and for a record that is compressed or encrypted.
    [[nodiscard]] Result<std::optional<ZipRecord>> find(std::string_view name) const;

  private:
    struct Entry;

    ZipReader(std::span<const std::byte> file, std::size_t offset, std::size_t bytes)
        : file_(file), directory_offset_(offset), directory_bytes_(bytes) {}
    [[nodiscard]] std::optional<Entry> entry_at(std::size_t offset) const;
    [[nodiscard]] Result<std::optional<ZipRecord>> record_of(const Entry& entry) const;

    std::span<const std::byte> file_;
    std::size_t directory_offset_;
    std::size_t directory_bytes_;
};

}  // namespace aoti_dbg
