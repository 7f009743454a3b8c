// A file that appears under its name only when it is whole. Until then it has no name, so that an abnormal
// exit leaves nothing behind. If the file system has no unnamed files, it has a hidden name.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "shim/runtime/file_calls.hpp"
#include "shim/save/tensor_folder.hpp"

namespace aoti_dbg {

class TensorFile {
  public:
    /// `folder` must outlive this object.
    explicit TensorFile(const TensorFolder& folder) : folder_(folder) {}
    /// Deletes the file unless it was published.
    ~TensorFile() { discard(); }
    TensorFile(const TensorFile&) = delete;
    TensorFile& operator=(const TensorFile&) = delete;

    /// Creates the file in the folder that it will be published in.
    Failed create(const OpenFolder& in);
    /// Writes all of `parts` in sequence from offset `from`, and changes the array. Several threads may call
    /// it at once if the folder keeps files open.
    Failed write(std::span<iovec> parts, std::uint64_t from);
    /// Gives the file its name. Returns EEXIST if the name exists. The caller may then retry with another
    /// name.
    Failed publish(const OpenFolder& in, const char* name);
    void discard();

    [[nodiscard]] bool is_open() const { return number_ >= 0; }

  private:
    [[nodiscard]] bool is_still_ours() const;
    Failed look_whether_ours();
    Failed create_hidden();
    Failed rename_to(const OpenFolder& in, const char* name);

    const TensorFolder& folder_;
    int number_ = -1;
    // The identity of the file, kept where the program could close the descriptor. The inode alone is not
    // enough: an unnamed file's inode goes to the next file that is created.
    dev_t device_ = 0;
    ino_t inode_ = 0;
    nlink_t names_ = 0;
    std::uint64_t end_ = 0;  // end of the written bytes, for the same check
    OpenFolder hidden_in_;
    std::string hidden_name_;  // empty if it has no hidden name
};

}  // namespace aoti_dbg
