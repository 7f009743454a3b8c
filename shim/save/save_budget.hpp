// Limits how much more may be saved: bytes, files, and the last tenth of the file system's bytes and inodes,
// which always stays free. Makes no system call: the caller passes in the file system's numbers. Not
// thread-safe.
#pragma once

#include <sys/statvfs.h>

#include <cstdint>

namespace aoti_dbg {

class SaveBudget {
  public:
    SaveBudget(std::uint64_t most_bytes, std::uint64_t most_files)
        : most_bytes_(most_bytes), most_files_(most_files) {}

    enum class Answer { granted, too_many_bytes, too_many_files, disk_full };

    /// Requests room for one file of `bytes`. `others` is what was written apart from saved tensors. A
    /// granted request is reserved. Requires a recent look().
    Answer ask(std::uint64_t bytes, std::uint64_t others);
    /// Records that `bytes` of a grant were written. The next look() sees them.
    void note_written(std::uint64_t bytes) { unwritten_ -= bytes < unwritten_ ? bytes : unwritten_; }
    /// give_back() returns the grant of a file that does not exist after all. give_back_bytes() returns only
    /// the bytes, because the file shares those of another. `written` is the part that was reported as
    /// written.
    void give_back(std::uint64_t bytes, std::uint64_t written);
    void give_back_bytes(std::uint64_t bytes, std::uint64_t written);
    /// Records that a file was removed. `bytes` is 0 if its content has other names.
    void note_removed(std::uint64_t bytes);

    /// Returns whether look() is due. Other programs write to the disk too.
    [[nodiscard]] bool wants_look(std::uint64_t now_ns) const;
    void look(const struct statvfs& disk, std::uint64_t now_ns);

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t files() const { return files_; }

  private:
    std::uint64_t most_bytes_;
    std::uint64_t most_files_;
    std::uint64_t bytes_ = 0;
    std::uint64_t files_ = 0;
    std::uint64_t room_ = 0;        // above the last tenth at the last look(), minus later grants
    std::uint64_t room_files_ = 0;  // the same for files
    std::uint64_t granted_ = 0;     // since the last look()
    std::uint64_t unwritten_ = 0;   // part of all grants
    std::uint64_t inspected_ns_ = 0;
    bool has_looked_ = false;
};

}  // namespace aoti_dbg
