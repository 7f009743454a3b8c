// How much more may be saved: bytes, files, and never the last tenth of the file system, of its bytes or of
// its files. Pure: it is told what the file system says. Not thread-safe.
#pragma once

#include <sys/statvfs.h>

#include <cstdint>

namespace aoti_dbg {

class SaveBudget {
  public:
    SaveBudget(std::uint64_t most_bytes, std::uint64_t most_files)
        : most_bytes_(most_bytes), most_files_(most_files) {}

    enum class Answer { granted, too_many_bytes, too_many_files, disk_full };

    /// For one file of so many bytes; `others` is what was written besides saved tensors. What is granted is
    /// taken. Needs a look at the disk that is not too old.
    Answer ask(std::uint64_t bytes, std::uint64_t others);
    /// So much of what was granted lies on the disk, whose next look tells of it.
    void note_written(std::uint64_t bytes) { unwritten_ -= bytes < unwritten_ ? bytes : unwritten_; }
    /// A file that was granted does not stand, or, of its bytes alone, is another one's; so much of it was
    /// said to be written.
    void give_back(std::uint64_t bytes, std::uint64_t written);
    void give_back_bytes(std::uint64_t bytes, std::uint64_t written);
    /// A file stands no more; no bytes where it has other names.
    void note_removed(std::uint64_t bytes);

    /// Whether the disk is to be looked at again: others write to it, too.
    [[nodiscard]] bool wants_look(std::uint64_t now_ns) const;
    void look(const struct statvfs& disk, std::uint64_t now_ns);

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t files() const { return files_; }

  private:
    std::uint64_t most_bytes_;
    std::uint64_t most_files_;
    std::uint64_t bytes_ = 0;
    std::uint64_t files_ = 0;
    std::uint64_t room_ = 0;        // above the last tenth, by the last look, less what was granted since
    std::uint64_t room_files_ = 0;  // likewise
    std::uint64_t granted_ = 0;     // since then
    std::uint64_t unwritten_ = 0;   // of all that was granted
    std::uint64_t looked_at_ns_ = 0;
    bool has_looked_ = false;
};

}  // namespace aoti_dbg
