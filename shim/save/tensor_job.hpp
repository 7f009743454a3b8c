// A tensor on its way to disk: what it is, where it goes and how far it has come. Structs only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/measured_event.hpp"
#include "serializer/pt_file.hpp"
#include "shim/save/saved_contents.hpp"
#include "shim/save/tensor_file.hpp"
#include "shim/save/tensor_names.hpp"

namespace aoti_dbg {

/// Describes a tensor to save. Refers to the caller's data.
struct TensorToSave {
    SavedPlace place;
    std::uint32_t model = ~0U;
    std::uint32_t position = 0;       // among the call's arguments
    PtTensor tensor;                  // as in the file, with the device in `place`
    std::int64_t storage_bytes = -1;  // of the whole storage, -1 if unknown
};

/// What is known about a tensor once all of its bytes were handed over.
struct SavedFacts {
    std::optional<BytesHash> hash;
    std::optional<TensorStatistics> statistics;
};

/// Bytes of the storage in the caller's memory. Without memory, the chunk is a run of zeros, which needs no
/// space on disk. A thread of ours calls `release` once, and then the memory is the caller's again. `release`
/// must not block.
struct TensorChunk {
    std::span<const std::byte> bytes;
    void (*release)(void* context) = nullptr;
    void* context = nullptr;
};

/// Represents the part of the storage before the tensor, which is not saved.
inline TensorChunk hole(std::uint64_t zeros) {
    return {{static_cast<const std::byte*>(nullptr), static_cast<std::size_t>(zeros)}, nullptr, nullptr};
}

struct SavingJob {
    // What it is.
    EventSide side = EventSide::before;
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;
    std::uint32_t model = ~0U;
    std::uint32_t position = 0;
    std::uint64_t sequence = 0;
    std::string kernel;
    std::string label;
    std::string device;
    DType dtype = DType::float32;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;
    std::int64_t storage_offset = 0;
    std::uint64_t storage_bytes = 0;        // bytes of storage in the file
    std::int64_t whole_storage_bytes = -1;  // -1 if unknown
    MathBits bits;
    SavedFacts facts;

    // Where it goes.
    std::string folder;  // relative to the folder of saved tensors
    std::string stem;
    std::string whole_name;    // set if the stem is cut
    std::uint64_t number = 1;  // of this name

    // How far it is.
    enum class Stage : std::uint8_t { fresh, writing, over };
    Stage stage = Stage::fresh;
    bool is_complete = false;  // no more bytes come; guarded by the saver's mutex
    bool is_claimed = false;   // others with the same content wait for it
    bool has_folder = false;   // its folder was created
    ContentKey key;            // valid once the hash is known
    std::unique_ptr<TensorFile> file;
    PtFrame frame;         // the tail is valid if has_crc
    bool has_crc = false;  // crc is that of the whole storage before the first byte is written
    bool has_grant = false;
    std::uint64_t granted = 0;  // bytes of the file, 0 for a link
    bool in_parts = false;      // large, written by several threads: see write_part()
    std::uint64_t head = 0;     // bytes of the file before the storage
    std::uint64_t at = 0;       // bytes written; in parts, set when all are written
    std::uint64_t settled = 0;  // part of the grant reported to the budget: written, or a hole
    std::uint64_t taken = 0;    // bytes consumed from the storage
    std::uint32_t crc = 0;
    std::uint64_t content = 0;      // KeptFile::content, once the file exists
    std::uint64_t index_bytes = 0;  // size of its line

    [[nodiscard]] PtTensor tensor() const {
        return {dtype, sizes, strides, storage_offset, storage_bytes, device, bits};
    }
    [[nodiscard]] std::string path() const {
        std::string path;
        path.reserve(folder.size() + stem.size() + kRoomBehindName);
        if (!folder.empty()) path.append(folder).append("/");
        append_file_name(stem, number, path);
        return path;
    }
};

}  // namespace aoti_dbg
