// The folder that saved tensors go to, with its subfolders. Everything in it is reached by descriptors of
// folders and never through a symbolic link: where the folder was replaced, moved away or deleted, that is a
// failure, and nothing is written elsewhere. Folders are 0700, files 0600; nothing that is there is
// overwritten.
//
//     OUT/tensors/               claimed by this process alone; tensors-<pid>, where that is taken
//         index.jsonl
//         run0000/call0041/*.pt  or, with PyTorch's layout, all of them in one folder, elsewhere
//         .unfinished/           where the file system has no files without a name
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/status.hpp"
#include "shim/runtime/file_calls.hpp"
#include "shim/save/write_back.hpp"

namespace aoti_dbg {

/// A folder that a thread works in. Of each thread its own.
class OpenFolder {
  public:
    [[nodiscard]] int number() const { return folder_ ? folder_->number() : -1; }
    void leave() { folder_.reset(); }

  private:
    friend class TensorFolder;
    std::string name_;
    std::optional<Descriptor> folder_;
    unsigned uses_ = 0;
};

class TensorFolder {
  public:
    struct Place {
        std::string out;            // an absolute path of a folder that is there
        std::string flat;           // of PyTorch's layout; empty: a folder for each call, in `out`
        bool follows_link = false;  // `flat` may be a symbolic link: the person named it
    };

    /// Makes it. `calls` outlives this.
    static Result<TensorFolder> make(const FileCalls& calls, const Place& place);

    /// Whether threads may keep folders open: they have descriptors of their own.
    void keep_open(bool keep) { keeps_open_ = keep; }
    [[nodiscard]] bool keeps_open() const { return keeps_open_; }
    /// Whoever is told of what was written to files; outlives this.
    void tell_of_writes(WriteBack* write_back) { write_back_ = write_back; }
    [[nodiscard]] WriteBack* write_back() const { return write_back_; }

    /// Goes to a subfolder ("" the folder itself, else as folder_of() has it), which it makes where it is not
    /// there. Cheap where `folder` is there already.
    Failed enter(const std::string& name, OpenFolder& folder) const;
    /// The one that has the index.
    Failed enter_home(OpenFolder& folder) const { return open_root(home_, folder); }

    /// Removes an empty subfolder; what is not empty stays.
    void remove_folder(const std::string& name) const;
    /// Removes what was for files that are not finished, if there are none.
    void tidy() const;

    /// What names of files are relative to, and where the index lies.
    [[nodiscard]] const std::string& path() const { return files_.path; }
    [[nodiscard]] const std::string& home() const { return home_.path; }
    [[nodiscard]] bool is_flat() const { return files_.path != home_.path; }
    /// Bytes of a name.
    [[nodiscard]] std::size_t longest_name() const { return longest_name_; }
    /// How a file gets its name when it is whole.
    enum class Naming { by_proc, by_descriptor, from_hidden };
    [[nodiscard]] Naming naming() const { return naming_; }
    [[nodiscard]] const FileCalls& calls() const { return *calls_; }

    static constexpr const char* kHidden = ".unfinished";

  private:
    struct Root {
        std::string path;
        bool follows_link = false;
        dev_t device = 0;
        ino_t inode = 0;
    };
    explicit TensorFolder(const FileCalls& calls) : calls_(&calls) {}
    Failed claim_home(const std::string& out);
    Failed make_flat(const Place& place);
    Failed recognise(Root& root) const;
    Failed open_root(const Root& root, OpenFolder& folder) const;
    Failed open_part(const char* name, OpenFolder& folder) const;
    void find_out_naming();

    const FileCalls* calls_;
    Root home_;
    Root files_;
    std::size_t longest_name_ = 255;
    Naming naming_ = Naming::from_hidden;
    bool keeps_open_ = false;
    WriteBack* write_back_ = nullptr;
};

}  // namespace aoti_dbg
