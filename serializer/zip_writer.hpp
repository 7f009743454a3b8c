// Lays out a zip archive of stored records (zip_format.hpp) the way PyTorch's writer does, byte for byte. The
// content of a record may be left out, for somebody else to put there. Writes to memory only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "serializer/zip_format.hpp"

namespace aoti_dbg {

class ZipWriter {
  public:
    /// The content of each record begins at a multiple of `alignment`. Names begin with `folder` and a slash.
    ZipWriter(std::string_view folder, std::uint32_t alignment);

    /// A record from its name to its data descriptor.
    void add(std::string_view name, std::string_view content);

    /// The same in two parts, between which `bytes` of content belong, which are not laid out.
    void begin(std::string_view name, std::uint64_t bytes);
    void end(std::uint32_t crc);

    /// Of the records so far, without empty ones: what PyTorch makes half of its id of.
    [[nodiscard]] std::uint64_t combined_crcs() const { return combined_crcs_; }

    /// The directory. Nothing may follow.
    void finish();

    /// What was laid out since the last time.
    std::vector<std::byte> take();

  private:
    struct Record {
        std::string_view name;  // the caller's
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
    std::vector<std::byte> bytes_;
};

}  // namespace aoti_dbg
