// index.jsonl, the list of saved tensors: a header, a line for each file once it stands, a line for each run
// whose files were removed, and a last line that says how it ended. Documented and versioned in
// docs/reference/tensors.md.
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

/// Points to what somebody else owns.
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
    std::int64_t storage_bytes = -1;        // of the tensor's whole storage; -1: not known
    std::uint64_t saved_storage_bytes = 0;  // of these, how many the file has, from the first on
    MathBits bits;
    std::string_view device;
    std::uint64_t bytes = 0;  // of the file
    bool has_hash = false;
    std::uint64_t hash_high = 0;
    std::uint64_t hash_low = 0;
    std::string_view linked_to;   // a path: the same file; empty: it was written
    std::string_view same_as;     // a path, in a file system without links: there is no file of this name
    std::string_view whole_name;  // without extension, where the path has a cut one
    const TensorStatistics* statistics = nullptr;
};

/// `folder` is what paths are relative to; empty: the folder of the index.
void append_index_header(const HeaderFacts& header, std::string_view folder, std::string& out);
void append_index_file(const IndexedTensor& tensor, std::string& out);
/// All lines of that run before this one are of files that are gone.
void append_index_evicted(std::uint32_t run, std::string_view why, std::uint64_t files, std::string& out);
/// Stands behind the header where lines of removed runs, and the lines that say so, were taken out.
void append_index_compacted(std::uint64_t runs, std::uint64_t files, std::string& out);

struct IndexEnd {
    std::string_view how;  // "complete", "stopped", "late" or "abandoned"
    std::string_view reason;
    std::span<const NamedCount> counts;
    std::span<const NamedCount> removed;
    std::span<const NamedCount> left_out;
};
void append_index_end(const IndexEnd& end, std::string& out);

/// What a line of this writer's is, for who takes lines out. Anything else is `other`.
struct IndexLine {
    enum class Kind : std::uint8_t { other, file, evicted, compacted };
    Kind kind = Kind::other;
    // Of a file:
    std::uint32_t run = ~0U;
    std::string_view path;       // as the line has it, escapes and all
    std::string_view linked_to;  // likewise; empty: it was written
};
IndexLine index_line_of(std::string_view line);
/// The line with another `linked_to`, as the line of that path has it; empty: with none.
void append_relinked(std::string_view line, const IndexLine& is, std::string_view linked_to,
                     std::string& out);

}  // namespace aoti_dbg
