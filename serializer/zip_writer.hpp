// Lays out a zip archive of stored records (zip_format.hpp) byte for byte as PyTorch's writer does. The
// caller may write a record's content separately. It must write to memory only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/zip_format.hpp"

namespace aoti_dbg {

class ZipWriter {
  public:
    /// Aligns each record's content to `alignment`. Names start with `folder` and a slash, unless it is
    /// empty.
    ZipWriter(std::string_view folder, std::uint32_t alignment);

    /// Adds a complete record, from its name to its data descriptor.
    void add(std::string_view name, std::string_view content);

    /// Add a record in two parts. The caller writes `bytes` bytes of content between them.
    void begin(std::string_view name, std::uint64_t bytes);
    void end(std::uint32_t crc);

    /// Returns the combined checksum of the non-empty records so far. PyTorch derives half of its id from it.
    [[nodiscard]] std::uint64_t combined_crcs() const { return combined_crcs_; }

    /// Writes the directory. Write nothing afterwards.
    void finish();

    /// Returns what was laid out since the last call.
    std::vector<std::byte> take();

  private:
    struct Record {
        std::string_view name;  // owned by the caller
        std::uint64_t offset;
        std::uint64_t bytes;
        std::uint32_t crc;
    };

    void put(const void* from, std::size_t bytes);
    template <typename T>
    void put(const T& value) {
        put(&value, sizeof value);
    }
    void put_name(std::string_view name);
    void put_zip64(const Record& record, std::uint64_t stored_bytes);
    void put_descriptor(const Record& record);
    void put_directory_entry(const Record& record);
    [[nodiscard]] std::uint16_t name_bytes(std::string_view name) const;

    std::string_view folder_;
    std::uint32_t alignment_;
    std::uint64_t position_ = 0;
    std::uint64_t combined_crcs_ = 0;
    std::vector<Record> records_;
    std::string bytes_;  // a string, because it appends short pieces faster than a vector
};

}  // namespace aoti_dbg
