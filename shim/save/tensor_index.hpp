// index.jsonl beside the saved tensors: each line is whole or not there, and is appended by one write. Lines
// of removed runs are taken out again, so that the file stays in proportion to what is on disk. Its
// descriptor stays open only where it is out of the program's reach. Not thread-safe: the caller holds a
// lock.
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
    /// What takes the index's place when it is whole. A process that is killed may leave one behind.
    static constexpr const char* kNewName = "index.jsonl.new";
    /// Fewer bytes of removed runs are not worth writing the rest again.
    static constexpr std::uint64_t kLeastDead = std::uint64_t{16} << 10U;

    /// `folder` outlives it.
    explicit TensorIndex(const TensorFolder& folder, std::uint64_t least_dead = kLeastDead)
        : folder_(folder), least_dead_(least_dead), compact_at_(least_dead) {}

    /// Makes the file with its first line.
    Failed create(std::string_view header);
    /// All of it, or, where that fails, nothing.
    Failed append(std::string_view lines);

    /// Appends the line that says that this run went. `dead` bytes of earlier lines list its files.
    Failed append_evicted(std::string_view line, std::uint32_t run, std::uint64_t files, std::uint64_t dead);
    /// Replaces the file by one without the lines of runs that went, once these are half of it, so that
    /// it costs each line a constant. Where that fails the file stays as it is, until it has grown again.
    void compact_if_due();

    /// From any thread.
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
    unsigned uses_ = 0;  // since it was opened
    std::atomic<std::uint64_t> bytes_{0};
    bool ends_torn_ = false;
    dev_t device_ = 0;
    ino_t inode_ = 0;

    const std::uint64_t least_dead_;
    std::uint64_t dead_ = 0;  // bytes of lines that list nothing that stands
    std::uint64_t compact_at_;
    std::map<std::uint32_t, std::uint64_t> gone_;  // by run: the place of its last line of this kind
    std::uint64_t gone_runs_ = 0;                  // all of them
    std::uint64_t gone_files_ = 0;
};

}  // namespace aoti_dbg
