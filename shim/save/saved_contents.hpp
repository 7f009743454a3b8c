// Which contents are on disk already, and where: so that a tensor that equals one that was saved is linked
// and not written. Bounded; what was not asked for longest goes first. Touches no file. Not thread-safe.
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

/// A whole file: the bytes of the storage, and what is written around them.
struct ContentKey {
    BytesHash bytes;  // over what is saved of the storage
    std::uint64_t storage_bytes = 0;
    std::uint64_t description = 0;  // a hash of dtype, sizes, strides, offset and device
    bool operator==(const ContentKey&) const = default;

    struct Hasher {
        std::size_t operator()(const ContentKey& key) const {
            constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15ULL;
            return static_cast<std::size_t>((key.bytes.low * kMix + key.bytes.high) * kMix + key.description);
        }
    };
};

/// A file that stands, by what it was when it was finished.
struct SavedFile {
    std::string path;  // relative to the folder of saved tensors
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{};
    std::uint64_t content = 0;  // KeptFile::content, where runs may go
};

class SavedContents {
  public:
    static constexpr std::size_t kMost = 32768;  // some six megabytes

    explicit SavedContents(std::size_t most = kMost) : most_(most) {}

    /// Null where it is not known. Valid until the next call.
    const SavedFile* find(const ContentKey& key);
    /// In the place of what was known by that key.
    void put(const ContentKey& key, SavedFile file);
    void forget(const ContentKey& key) { known_.erase(key); }
    [[nodiscard]] std::size_t size() const { return known_.size(); }

  private:
    struct Known {
        SavedFile file;
        bool asked_for = false;  // since it was last passed by
    };
    void make_room();

    std::size_t most_;
    std::unordered_map<ContentKey, Known, ContentKey::Hasher> known_;
    std::deque<ContentKey> order_;  // may hold keys that are forgotten
};

}  // namespace aoti_dbg
