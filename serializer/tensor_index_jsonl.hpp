// index.jsonl, the list of saved tensors: a header, a line for each complete file, and a line for each run
// whose files were removed. The last line says how it ended. docs/reference/tensors.md documents and versions
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "serializer/event_jsonl.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

inline constexpr std::string_view kTensorIndexName = "aoti-dbg-tensors";
inline constexpr std::uint32_t kTensorIndexVersion = 2;

/// A view; its pointers belong to the caller.
struct IndexedTensor {
    std::string_view path;  // relative to the header's folder
    EventSide side = EventSide::before;
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;
    std::uint32_t model = ~0U;
    std::uint64_t sequence = 0;
    std::string_view kernel;
    std::string_view label;
    std::uint32_t position = 0;
    DType dtype = DType::float32;
    std::span<const std::int64_t> sizes;
    std::span<const std::int64_t> strides;
    std::int64_t storage_offset = 0;
    std::int64_t storage_bytes = -1;        // of the tensor's whole storage; -1: unknown
    std::uint64_t saved_storage_bytes = 0;  // how many of these bytes, from the first on, the file has
    MathBits bits;
    std::string_view device;
    std::uint64_t bytes = 0;  // of the file
    bool has_hash = false;
    std::uint64_t hash_high = 0;
    std::uint64_t hash_low = 0;
    std::string_view linked_to;   // path of the file it is a link to; empty: it was written
    std::string_view same_as;     // path of the file with the same contents, on file systems without links:
                                  // this file does not exist
    std::string_view whole_name;  // without extension, if the path has a truncated one
    const TensorStatistics* statistics = nullptr;
};

/// Paths are relative to `folder`; empty means the folder of the index.
void append_index_header(const HeaderFacts& header, std::string_view folder, std::string& out);
void append_index_file(const IndexedTensor& tensor, std::string& out);
/// Declares that the files of all earlier lines of that run are gone.
void append_index_evicted(std::uint32_t run, std::string_view why, std::uint64_t files, std::string& out);
/// Follows the header if lines of removed runs, and the lines that declare their removal, were deleted.
void append_index_compacted(std::uint64_t runs, std::uint64_t files, std::string& out);

struct IndexEnd {
    std::string_view how;  // "complete", "stopped", "late" or "abandoned"
    std::string_view reason;
    std::span<const NamedCount> counts;
    std::span<const NamedCount> removed;
    std::span<const NamedCount> left_out;
};
void append_index_end(const IndexEnd& end, std::string& out);

/// Classifies a line of this writer, for code that removes lines. Any other line is `other`.
struct IndexLine {
    enum class Kind : std::uint8_t { other, file, evicted, compacted };
    Kind kind = Kind::other;
    // The members below describe a file.
    std::uint32_t run = ~0U;
    std::string_view path;       // as in the line, with its escapes
    std::string_view linked_to;  // as in the line; empty: it was written
};
IndexLine index_line_of(std::string_view line);
/// Appends the line with another `linked_to`, given as that path's own line spells it. An empty one removes
/// the member.
void append_relinked(std::string_view line, const IndexLine& is, std::string_view linked_to,
                     std::string& out);

}  // namespace aoti_dbg
