// See zip_reader.hpp. Structures are copied out, because they may be unaligned.
#include "serializer/zip_reader.hpp"

#include "base/bytes_at.hpp"
#include "serializer/zip_format.hpp"

namespace aoti_dbg {
namespace {

using namespace zip;
using Bytes = std::span<const std::byte>;

/// Returns a structure from copy_at() if it starts with its magic number.
template <typename T>
std::optional<T> structure_at(Bytes bytes, std::uint64_t offset) {
    std::optional<T> value = copy_at<T>(bytes, offset);
    return value && value->magic == T{}.magic ? value : std::nullopt;
}

Status damaged(const char* what) {
    return Status::error(std::string("a damaged zip archive: ") + what +
                         ". It may have been truncated or altered: copy or save it again");
}

/// Returns the offset of the last structure, which only a comment may follow.
std::optional<std::size_t> find_end(Bytes file) {
    constexpr std::size_t kLongestComment = 0xffff;
    for (std::size_t comment = 0; comment <= kLongestComment; ++comment) {
        if (file.size() < sizeof(End) + comment) break;
        const std::size_t offset = file.size() - sizeof(End) - comment;
        const auto end = structure_at<End>(file, offset);
        if (end && end->comment_bytes == comment) return offset;
    }
    return std::nullopt;
}

/// Takes the numbers marked as elsewhere from the zip64 field.
bool complete_from_zip64(Bytes extra, std::uint64_t& size, std::uint64_t& stored_size,
                         std::uint64_t& offset) {
    while (const auto tag = copy_at<std::uint16_t>(extra, 0)) {
        const auto length = copy_at<std::uint16_t>(extra, sizeof *tag);
        if (!length) break;
        extra = extra.subspan(sizeof *tag + sizeof *length);
        if (extra.size() < *length) break;
        if (*tag == kZip64Tag) {
            Bytes field = extra.first(*length);
            for (std::uint64_t* number : {&size, &stored_size, &offset}) {
                if (*number != kElsewhere) continue;
                const auto wide = copy_at<std::uint64_t>(field, 0);
                if (!wide) return false;
                *number = *wide;
                field = field.subspan(sizeof *wide);
            }
            return true;
        }
        extra = extra.subspan(*length);
    }
    return size != kElsewhere && stored_size != kElsewhere && offset != kElsewhere;
}

}  // namespace

struct ZipReader::Entry {
    std::string_view name;  // with its folder
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint32_t crc = 0;
    std::uint64_t size = 0;
    std::uint64_t stored_size = 0;
    std::uint64_t offset = 0;
    std::size_t bytes = 0;  // of the entry itself
};

Result<ZipReader> ZipReader::open(Bytes file) {
    const std::optional<std::size_t> end_offset = find_end(file);
    if (!end_offset) return damaged("its end record is missing");
    const End end = *structure_at<End>(file, *end_offset);
    std::uint64_t offset = end.directory_offset;
    std::uint64_t bytes = end.directory_bytes;
    std::uint64_t limit = *end_offset;
    if (*end_offset >= sizeof(Zip64Locator)) {
        if (const auto locator = structure_at<Zip64Locator>(file, *end_offset - sizeof(Zip64Locator))) {
            const auto zip64 = structure_at<Zip64End>(file, locator->end_offset);
            if (!zip64) return damaged("its zip64 end record is missing");
            offset = zip64->directory_offset;
            bytes = zip64->directory_bytes;
            limit = locator->end_offset;
        }
    }
    if (!lies_within(offset, bytes, limit)) return damaged("its directory is outside the file");
    return ZipReader(file, offset, bytes);
}

std::optional<ZipReader::Entry> ZipReader::entry_at(std::size_t offset) const {
    const Bytes rest = file_.subspan(offset, directory_offset_ + directory_bytes_ - offset);
    const auto header = structure_at<DirectoryEntry>(rest, 0);
    if (!header) return std::nullopt;
    Entry entry;
    entry.bytes = sizeof(DirectoryEntry) + header->name_bytes + header->extra_bytes + header->comment_bytes;
    if (entry.bytes > rest.size()) return std::nullopt;
    entry.name = {reinterpret_cast<const char*>(rest.data()) + sizeof(DirectoryEntry), header->name_bytes};
    entry.flags = header->flags;
    entry.method = header->method;
    entry.crc = header->crc;
    entry.size = header->size;
    entry.stored_size = header->stored_size;
    entry.offset = header->offset;
    const Bytes extra = rest.subspan(sizeof(DirectoryEntry) + header->name_bytes, header->extra_bytes);
    if (!complete_from_zip64(extra, entry.size, entry.stored_size, entry.offset)) return std::nullopt;
    return entry;
}

Result<std::optional<ZipRecord>> ZipReader::record_of(const Entry& entry) const {
    if ((entry.flags & kEncrypted) != 0) return Status::error("an encrypted zip archive. Decrypt it first");
    if (entry.method != kStored || entry.size != entry.stored_size) {
        return Status::error(
            "a compressed zip archive. Unpack it and pack it again without "
            "compression (zip -0)");
    }
    const auto header = structure_at<LocalHeader>(file_, entry.offset);
    if (!header) return damaged("a record is missing");
    const std::uint64_t content =
        entry.offset + sizeof(LocalHeader) + header->name_bytes + header->extra_bytes;
    if (!lies_within(content, entry.size, directory_offset_)) {
        return damaged("a record is outside the file");
    }
    return std::optional(ZipRecord{file_.subspan(content, entry.size), entry.crc});
}

Result<std::optional<ZipRecord>> ZipReader::find(std::string_view name) const {
    std::size_t offset = directory_offset_;
    const std::size_t end = directory_offset_ + directory_bytes_;
    std::string_view folder;
    while (offset < end) {
        const std::optional<Entry> entry = entry_at(offset);
        if (!entry) return damaged("its directory is malformed");
        if (offset == directory_offset_) folder = entry->name.substr(0, entry->name.find('/'));
        std::string_view rest = entry->name;
        if (rest.starts_with(folder)) {
            rest.remove_prefix(folder.size());
            if (rest.starts_with('/') && rest.substr(1) == name) return record_of(*entry);
        }
        offset += entry->bytes;
    }
    return std::optional<ZipRecord>();
}

Result<std::vector<ZipMember>> ZipReader::members() const {
    std::vector<ZipMember> members;
    const std::size_t end = directory_offset_ + directory_bytes_;
    for (std::size_t offset = directory_offset_; offset < end;) {
        const std::optional<Entry> entry = entry_at(offset);
        if (!entry) return damaged("its directory is malformed");
        const Result<std::optional<ZipRecord>> record = record_of(*entry);
        if (!record.ok()) return record.status();
        members.push_back({entry->name, *record.value()});
        offset += entry->bytes;
    }
    return members;
}

}  // namespace aoti_dbg
