// See zip_writer.hpp. PyTorch writes through miniz, and this writer keeps its habits. It always writes data
// descriptors, with 64 bits if the record has a zip64 field. It always writes Zip64End.
#include "serializer/zip_writer.hpp"

#include <algorithm>
#include <span>

#include "serializer/crc32.hpp"

namespace aoti_dbg {
namespace {

using namespace zip;

struct ExtraTag {
    std::uint16_t tag;
    std::uint16_t bytes;
};

std::uint16_t flags_of(std::uint64_t bytes) {
    return bytes == 0 ? kNameIsUtf8 : kNameIsUtf8 | kHasDescriptor;
}

bool elsewhere(std::uint64_t number) {
    return number >= kElsewhere;
}

std::uint32_t here(std::uint64_t number) {
    return elsewhere(number) ? kElsewhere : static_cast<std::uint32_t>(number);
}

/// The values of a record in its zip64 field.
struct Zip64Parts {
    bool sizes;
    bool offset;
    /// Returns the length with the tag; 0 if there is none.
    [[nodiscard]] std::uint16_t bytes() const {
        if (!sizes && !offset) return 0;
        return static_cast<std::uint16_t>(sizeof(ExtraTag) + (sizes ? 16 : 0) + (offset ? 8 : 0));
    }
};

Zip64Parts zip64_of(std::uint64_t bytes, std::uint64_t offset) {
    return {elsewhere(bytes), elsewhere(offset)};
}

// The usual size of the data around a tensor of a few dimensions. It is created for each saved tensor.
constexpr std::size_t kUsualBytes = 1024;
constexpr std::size_t kUsualRecords = 8;

}  // namespace

ZipWriter::ZipWriter(std::string_view folder, std::uint32_t alignment)
    : folder_(folder), alignment_(alignment) {
    bytes_.reserve(kUsualBytes);
    records_.reserve(kUsualRecords);
}

void ZipWriter::put(const void* from, std::size_t bytes) {
    bytes_.append(static_cast<const char*>(from), bytes);
    position_ += bytes;
}

std::uint16_t ZipWriter::name_bytes(std::string_view name) const {
    return static_cast<std::uint16_t>(folder_.size() + (folder_.empty() ? 0 : 1) + name.size());
}

void ZipWriter::put_name(std::string_view name) {
    put(folder_.data(), folder_.size());
    if (!folder_.empty()) put('/');
    put(name.data(), name.size());
}

void ZipWriter::put_zip64(const Record& record, std::uint64_t stored_bytes) {
    const Zip64Parts parts = zip64_of(record.bytes, record.offset);
    if (parts.bytes() == 0) return;
    put(ExtraTag{kZip64Tag, static_cast<std::uint16_t>(parts.bytes() - sizeof(ExtraTag))});
    if (parts.sizes) {
        put(record.bytes);
        put(stored_bytes);
    }
    if (parts.offset) put(record.offset);
}

void ZipWriter::begin(std::string_view name, std::uint64_t bytes) {
    const Record record{name, position_, bytes, 0};
    const std::uint16_t zip64 = zip64_of(bytes, position_).bytes();
    const std::uint64_t content =
        position_ + sizeof(LocalHeader) + name_bytes(name) + zip64 + sizeof(ExtraTag);
    const auto padding = static_cast<std::uint16_t>((alignment_ - content % alignment_) % alignment_);

    LocalHeader header;
    header.flags = flags_of(bytes);
    header.name_bytes = name_bytes(name);
    header.extra_bytes = static_cast<std::uint16_t>(zip64 + sizeof(ExtraTag) + padding);
    put(header);
    put_name(name);
    // A writer that might compress does not know the stored size yet, so the size follows the content.
    put_zip64(record, 0);
    put(ExtraTag{kPaddingTag, padding});
    bytes_.append(padding, 'Z');
    position_ += padding + bytes;
    records_.push_back(record);
}

void ZipWriter::put_descriptor(const Record& record) {
    put(kDescriptorMagic);
    put(record.crc);
    // The stored size and the size are equal.
    for (int twice = 0; twice < 2; ++twice) {
        if (zip64_of(record.bytes, record.offset).bytes() != 0) {
            put(record.bytes);
        } else {
            put(static_cast<std::uint32_t>(record.bytes));
        }
    }
}

void ZipWriter::end(std::uint32_t crc) {
    Record& record = records_.back();
    record.crc = crc;
    if (record.bytes == 0) return;
    put_descriptor(record);
    combined_crcs_ ^= std::uint64_t{crc} + 0x9e3779b9 + (combined_crcs_ << 6U) + (combined_crcs_ >> 2U);
}

void ZipWriter::add(std::string_view name, std::string_view content) {
    begin(name, content.size());
    position_ -= content.size();
    put(content.data(), content.size());
    end(crc32(0, std::as_bytes(std::span(content))));
}

void ZipWriter::put_directory_entry(const Record& record) {
    DirectoryEntry entry;
    entry.flags = flags_of(record.bytes);
    entry.crc = record.crc;
    entry.stored_size = here(record.bytes);
    entry.size = here(record.bytes);
    entry.name_bytes = name_bytes(record.name);
    entry.extra_bytes = zip64_of(record.bytes, record.offset).bytes();
    entry.offset = here(record.offset);
    put(entry);
    put_name(record.name);
    put_zip64(record, record.bytes);
}

void ZipWriter::finish() {
    Zip64End zip64;
    zip64.directory_offset = position_;
    for (const Record& record : records_)
        put_directory_entry(record);
    zip64.directory_bytes = position_ - zip64.directory_offset;
    zip64.entries = records_.size();
    zip64.entries_on_disk = records_.size();

    Zip64Locator locator;
    locator.end_offset = position_;
    End end;
    end.entries = static_cast<std::uint16_t>(std::min<std::size_t>(records_.size(), kElsewhere16));
    end.entries_on_disk = end.entries;
    end.directory_bytes = here(zip64.directory_bytes);
    end.directory_offset = here(zip64.directory_offset);
    put(zip64);
    put(locator);
    put(end);
}

std::vector<std::byte> ZipWriter::take() {
    const std::span<const std::byte> laid_out = std::as_bytes(std::span(bytes_));
    std::vector<std::byte> taken(laid_out.begin(), laid_out.end());
    bytes_.clear();
    return taken;
}

}  // namespace aoti_dbg
