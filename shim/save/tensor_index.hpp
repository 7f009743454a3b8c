// Writes index.jsonl beside the saved tensors. Each line is appended by one write and is either whole or
// absent. Lines of removed runs are later deleted, so that the file stays in proportion to what is on disk.
// The descriptor stays open only if the program cannot reach it. Not thread-safe: the caller holds a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "shim/runtime/file_calls.hpp"
#include "shim/save/tensor_folder.hpp"

namespace aoti_dbg {

struct IndexLine;

class TensorIndex {
  public:
    static constexpr const char* kName = "index.jsonl";
    /// Replaces the index once it is whole. A killed process may leave one behind.
    static constexpr const char* kNewName = "index.jsonl.new";
    /// Fewer bytes of removed runs do not justify rewriting the rest.
    static constexpr std::uint64_t kLeastDead = std::uint64_t{16} << 10U;

    /// `folder` must outlive this object.
    explicit TensorIndex(const TensorFolder& folder, std::uint64_t least_dead = kLeastDead)
        : folder_(folder), least_dead_(least_dead), compact_at_(least_dead) {}

    /// Creates the file with its first line.
    Failed create(std::string_view header);
    /// Appends all of `lines`. On failure, nothing is appended.
    Failed append(std::string_view lines);

    /// Appends the line that says that this run was removed. `dead` is the size of the earlier lines that
    /// list its files.
    Failed append_evicted(std::string_view line, std::uint32_t run, std::uint64_t files, std::uint64_t dead);
    /// Rewrites the file without the lines of removed runs once they are half of it. This makes the cost per
    /// line constant. On failure the file stays unchanged until it has grown again.
    void compact_if_due();

    /// You may call this from any thread.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::string path() const { return folder_.home() + "/" + kName; }

  private:
    Failed open_again();
    Failed write(std::string_view lines);

    // tensor_index_compact.cpp
    class Copy;
    Failed compact();
    [[nodiscard]] bool stays(std::string_view line, const IndexLine& is, std::uint64_t at) const;

    const TensorFolder& folder_;
    std::optional<Descriptor> file_;
    unsigned uses_ = 0;  // since the file was opened
    std::atomic<std::uint64_t> bytes_{0};
    bool ends_torn_ = false;
    dev_t device_ = 0;
    ino_t inode_ = 0;

    const std::uint64_t least_dead_;
    std::uint64_t dead_ = 0;  // bytes of lines that list no existing file
    std::uint64_t compact_at_;
    std::map<std::uint32_t, std::uint64_t> gone_;  // by run: the offset of its last eviction line
    std::uint64_t gone_runs_ = 0;                  // all removed runs so far
    std::uint64_t gone_files_ = 0;
};

}  // namespace aoti_dbg
