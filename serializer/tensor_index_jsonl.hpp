// index.jsonl, the list of saved tensors: a header, a line a file once the file stands, a line a run whose
// files were removed, and a last line that says how it ended. Drawn and versioned in docs/FORMAT.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "serializer/event_jsonl.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

inline constexpr std::string_view kTensorIndexName = "aoti-dbg-tensors";
inline constexpr std::uint32_t kTensorIndexVersion = 1;

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
    std::uint64_t storage_bytes = 0;
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
/// `how` is "complete", "stopped", "late" or "abandoned".
void append_index_end(std::string_view how, std::string_view reason, std::span<const NamedCount> counts,
                      std::span<const NamedCount> left_out, std::string& out);

}  // namespace aoti_dbg
