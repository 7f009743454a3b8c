// Finds stored records in an in-memory zip archive (zip_format.hpp). It accepts any bytes and must check
// every number before using it. It copies and keeps nothing. A search takes time proportional to the
// directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg {

struct ZipRecord {
    std::span<const std::byte> content;
    std::uint32_t crc = 0;  // from the directory; not verified
};

/// A record with its name, which has no other folder than the archive gives it.
struct ZipMember {
    std::string_view name;
    ZipRecord record;
};

class ZipReader {
  public:
    /// `file` must outlive the reader and its results.
    static Result<ZipReader> open(std::span<const std::byte> file);

    /// Returns the record `name` in the folder of the first record, as PyTorch does, or nothing if there is
    /// none. Fails if the archive is damaged or the record is compressed or encrypted.
    [[nodiscard]] Result<std::optional<ZipRecord>> find(std::string_view name) const;

    /// Returns all records. Fails like find().
    [[nodiscard]] Result<std::vector<ZipMember>> members() const;

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
