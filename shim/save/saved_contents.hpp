// Remembers which contents are on disk and where, so that an equal tensor is linked instead of written. The
// memory is bounded: the least recently requested content goes first. Touches no file. Not thread-safe.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "stats_kernels/bytes_hash.hpp"

namespace aoti_dbg {

/// Identifies the content of a whole file: the bytes of the storage and the metadata around them.
struct ContentKey {
    BytesHash bytes;  // over the saved part of the storage
    std::uint64_t storage_bytes = 0;
    std::uint64_t description = 0;  // hash of dtype, sizes, strides, offset and device
    bool operator==(const ContentKey&) const = default;

    struct Hasher {
        std::size_t operator()(const ContentKey& key) const {
            constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15ULL;
            return static_cast<std::size_t>((key.bytes.low * kMix + key.bytes.high) * kMix + key.description);
        }
    };
};

/// A finished file and its state at that time.
struct SavedFile {
    std::string path;  // relative to the folder of saved tensors
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{};
    std::uint64_t content = 0;  // KeptFile::content, if runs may be removed
};

class SavedContents {
  public:
    static constexpr std::size_t kMost = 32768;  // about six megabytes

    explicit SavedContents(std::size_t most = kMost) : most_(most) {}

    /// Returns null if the content is unknown. The pointer is valid until the next call.
    const SavedFile* find(const ContentKey& key);
    /// Replaces an earlier entry of the same key.
    void put(const ContentKey& key, SavedFile file);
    void forget(const ContentKey& key) { known_.erase(key); }
    [[nodiscard]] std::size_t size() const { return known_.size(); }

  private:
    struct SavedContent {
        SavedFile file;
        bool asked_for = false;  // since make_room() last considered it
    };
    void make_room();

    std::size_t most_;
    std::unordered_map<ContentKey, SavedContent, ContentKey::Hasher> known_;
    std::deque<ContentKey> order_;  // may contain forgotten keys
};

}  // namespace aoti_dbg
