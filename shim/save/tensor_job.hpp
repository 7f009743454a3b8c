// A tensor on its way to disk: what it is, where it goes, how far it is. Structs only.
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

/// What a tensor is that is to be saved. Points to what is the caller's.
struct TensorToSave {
    SavedPlace place;
    std::uint32_t model = ~0U;
    std::uint32_t position = 0;  // among the call's arguments
    PtTensor tensor;             // as the file has it; its device is that of `place`
    std::int64_t storage_bytes =
        -1;  // of the whole storage, which may go on behind the tensor; -1: not known
};

/// What is known of it when all of its bytes were handed over.
struct SavedFacts {
    std::optional<BytesHash> hash;
    std::optional<TensorStatistics> statistics;
};

/// Bytes of the storage in memory of the caller's (none: so many zeros, which take no room on disk), which
/// are his again when `release` is called: once, by a thread of ours, which must not be made to wait.
struct TensorChunk {
    std::span<const std::byte> bytes;
    void (*release)(void* context) = nullptr;
    void* context = nullptr;
};

/// What a storage has in front of a tensor is not its own.
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
    std::uint64_t storage_bytes = 0;        // that the file has
    std::int64_t whole_storage_bytes = -1;  // -1: not known
    MathBits bits;
    SavedFacts facts;

    // Where it goes.
    std::string folder;  // relative to the folder of saved tensors
    std::string stem;
    std::string whole_name;    // where the stem is cut
    std::uint64_t number = 1;  // of this name

    // How far it is.
    enum class Stage : std::uint8_t { fresh, writing, over };
    Stage stage = Stage::fresh;
    bool is_complete = false;  // all of its bytes are at hand, or no more come; by the saver's mutex
    bool is_claimed = false;   // others with the same content wait for it
    bool has_folder = false;   // the folder that it goes to was made
    ContentKey key;            // once the hash is known
    std::unique_ptr<TensorFile> file;
    bool has_grant = false;
    std::uint64_t granted = 0;  // bytes of the file; of a link none
    bool in_parts = false;      // of many bytes, written by several threads: see write_part()
    std::uint64_t head = 0;     // bytes of the file before the storage
    std::uint64_t at = 0;       // of the file, written; where it is in parts, when all are
    std::uint64_t settled = 0;  // of what was granted, as the budget knows: written, or a hole
    std::uint64_t taken = 0;    // of the storage
    std::uint32_t crc = 0;
    std::uint64_t content = 0;      // KeptFile::content, once it stands
    std::uint64_t index_bytes = 0;  // of its line

    [[nodiscard]] PtTensor tensor() const {
        return {dtype, sizes, strides, storage_offset, storage_bytes, device, bits};
    }
    [[nodiscard]] std::string path() const {
        return folder.empty() ? file_name_of(stem, number) : folder + "/" + file_name_of(stem, number);
    }
};

}  // namespace aoti_dbg
