// The folder of saved tensors and its subfolders. All access goes through descriptors of folders and never
// follows a symbolic link. If the folder was replaced, moved or deleted, access fails and nothing is written
// elsewhere. Folders are 0700, files 0600. Existing files are never overwritten.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/status.hpp"
#include "shim/runtime/file_calls.hpp"
#include "shim/save/write_back.hpp"

namespace aoti_dbg {

/// A folder that a thread works in. Each thread has its own.
class OpenFolder {
  public:
    [[nodiscard]] int number() const { return folder_ ? folder_->number() : -1; }
    void leave() {
        folder_.reset();
        parent_.reset();
    }

  private:
    friend class TensorFolder;
    std::string name_;
    std::optional<Descriptor> folder_;
    std::string parent_name_;
    std::optional<Descriptor> parent_;  // open only if the threads may keep folders open
    unsigned uses_ = 0;                 // since the path was walked from its root
};

/// The layout on disk:
///     OUT/tensors/               claimed by this process alone, or tensors-<pid> if that exists
///         index.jsonl
///         run0000/call0041/*.pt  or, with PyTorch's layout, all in one folder elsewhere
///         .unfinished/           if the file system has no unnamed files
class TensorFolder {
  public:
    struct Place {
        std::string out;            // absolute path of an existing folder
        std::string flat;           // for PyTorch's layout, empty for a folder per call in `out`
        bool follows_link = false;  // `flat` may be a symbolic link, because the user named it
    };

    /// Creates the folder. `calls` must outlive this object.
    static Result<TensorFolder> make(const FileCalls& calls, const Place& place);

    /// Sets whether threads may keep folders open. They may if they have descriptors of their own.
    void keep_open(bool keep) { keeps_open_ = keep; }
    [[nodiscard]] bool keeps_open() const { return keeps_open_; }
    /// Sets the object to notify of writes to files. It must outlive this object.
    void report_writes_to(WriteBack* write_back) { write_back_ = write_back; }
    [[nodiscard]] WriteBack* write_back() const { return write_back_; }

    /// Opens a subfolder and creates it if it does not exist. The name is "" for the folder itself, else as
    /// in folder_of(). Cheap if `folder` already refers to it or to another folder of that run.
    Failed enter(const std::string& name, OpenFolder& folder) const;
    /// Opens the folder that contains the index.
    Failed enter_home(OpenFolder& folder) const { return open_root(home_, folder); }

    /// Removes a subfolder if it is empty.
    void remove_folder(const std::string& name) const;
    /// Removes the folder of unfinished files if it is empty.
    void tidy() const;

    /// Names of files are relative to path(). home() contains the index.
    [[nodiscard]] const std::string& path() const { return files_.path; }
    [[nodiscard]] const std::string& home() const { return home_.path; }
    [[nodiscard]] bool is_flat() const { return files_.path != home_.path; }
    /// The longest name of a file, in bytes.
    [[nodiscard]] std::size_t longest_name() const { return longest_name_; }
    /// How a finished file gets its name.
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
    Failed open_part(int in, const char* name, std::optional<Descriptor>& part) const;
    Failed walk_to(const std::string& parent, const std::string& last, OpenFolder& folder) const;
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
