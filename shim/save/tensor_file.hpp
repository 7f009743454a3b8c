// A file that stands under its name only when it is whole: until then it has no name at all, so that nothing
// is left of it however the process ends, or, where the file system has no such files, a hidden one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "shim/runtime/file_calls.hpp"
#include "shim/save/tensor_folder.hpp"

namespace aoti_dbg {

class TensorFile {
  public:
    /// `folder` outlives it.
    explicit TensorFile(const TensorFolder& folder) : folder_(folder) {}
    /// What has no name by then is gone.
    ~TensorFile() { discard(); }
    TensorFile(const TensorFile&) = delete;
    TensorFile& operator=(const TensorFile&) = delete;

    /// In the folder that it will stand in.
    Failed create(const OpenFolder& in);
    /// All of the parts, one behind the other; they are changed. By several threads at once where the folder
    /// keeps files open.
    Failed write(std::span<iovec> parts, std::uint64_t from);
    /// Gives it its name. EEXIST where something is there by that name: then it may be tried again.
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
    // What it is, where the program could close the descriptor. The inode alone does not tell: that of a file
    // without a name is given to the next one that is made.
    dev_t device_ = 0;
    ino_t inode_ = 0;
    nlink_t names_ = 0;
    std::uint64_t end_ = 0;  // of what was written, likewise
    OpenFolder hidden_in_;
    std::string hidden_name_;  // empty: it has none
};

}  // namespace aoti_dbg
