#include "shim/save/tensor_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "shim/save/tensor_file.hpp"

namespace aoti_dbg {
namespace {

// O_PATH opens the folder without read permission. It only serves to reach names below it.
constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
constexpr int kMostNames = 10000;
// Files written between two checks that the folder was not moved.
constexpr unsigned kUsesOfOpen = 256;

}  // namespace

Result<TensorFolder> TensorFolder::make(const FileCalls& calls, const Place& place) {
    TensorFolder folder(calls);
    if (const Failed failed = folder.claim_home(place.out))
        return Status::error(failure_text(failed, place.out + "/tensors"), failed.error);
    folder.files_ = folder.home_;
    if (!place.flat.empty()) {
        if (const Failed failed = folder.make_flat(place))
            return Status::error(failure_text(failed, place.flat), failed.error);
    }
    folder.find_out_naming();
    return folder;
}

Failed TensorFolder::claim_home(const std::string& out) {
    home_.path = out + "/tensors";
    const std::string other = home_.path + "-" + std::to_string(getpid());
    for (int number = 1; number < kMostNames; ++number) {
        if (number > 1) home_.path = number == 2 ? other : other + "." + std::to_string(number - 1);
        if (calls_->make_folder_at(AT_FDCWD, home_.path.c_str(), 0700) == 0) return recognise(home_);
        if (errno != EEXIST) break;
    }
    return {errno, "cannot create directory"};
}

Failed TensorFolder::make_flat(const Place& place) {
    files_ = {place.flat, place.follows_link};
    for (std::size_t slash = place.flat.find('/', 1);; slash = place.flat.find('/', slash + 1)) {
        const std::string part = place.flat.substr(0, slash);
        // A parent may exist without being writable. Only the last component decides.
        const int made = calls_->make_folder_at(AT_FDCWD, part.c_str(), 0700);
        if (slash != std::string::npos) continue;
        if (made != 0 && errno != EEXIST) return {errno, "cannot create directory"};
        return recognise(files_);
    }
}

Failed TensorFolder::recognise(Root& root) const {
    const int flags = root.follows_link ? kFolder & ~O_NOFOLLOW : kFolder;
    const Descriptor opened(calls_->open_at(AT_FDCWD, root.path.c_str(), flags, 0));
    struct stat found {};
    if (opened.number() < 0 || calls_->inspect(opened.number(), "", &found) != 0)
        return {errno, "cannot open directory"};
    root.device = found.st_dev;
    root.inode = found.st_ino;
    return {};
}

Failed TensorFolder::open_root(const Root& root, OpenFolder& folder) const {
    folder.leave();
    const int flags = root.follows_link ? kFolder & ~O_NOFOLLOW : kFolder;
    folder.folder_.emplace(calls_->open_at(AT_FDCWD, root.path.c_str(), flags, 0));
    struct stat found {};
    Failed failed;
    if (folder.number() < 0 || calls_->inspect(folder.number(), "", &found) != 0) {
        failed = {errno, "cannot open directory"};
    } else if (found.st_dev != root.device || found.st_ino != root.inode) {
        failed = {ESTALE, "another directory has replaced"};
    }
    if (failed) folder.leave();
    return failed;
}

/// Opens the subfolder `name` of the folder `in`.
Failed TensorFolder::open_part(int in, const char* name, std::optional<Descriptor>& part) const {
    int opened = calls_->open_at(in, name, kFolder, 0);
    if (opened < 0 && errno == ENOENT) {
        // Another thread may have created it first.
        if (calls_->make_folder_at(in, name, 0700) != 0 && errno != EEXIST)
            return {errno, "cannot create a directory in"};
        opened = calls_->open_at(in, name, kFolder, 0);
    }
    if (opened < 0) return {errno, "cannot open a directory in"};
    part.emplace(opened);
    return {};
}

Failed TensorFolder::enter(const std::string& name, OpenFolder& folder) const {
    const bool may_stay = keeps_open_ && folder.folder_ && folder.uses_++ < kUsesOfOpen;
    if (may_stay && folder.name_ == name) return {};
    const std::size_t slash = name.find('/');
    const std::string parent = slash == std::string::npos ? std::string() : name.substr(0, slash);
    const std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
    // Calls of one run share a folder. It may have been removed meanwhile.
    const bool has_parent = may_stay && folder.parent_ && !parent.empty() && folder.parent_name_ == parent;
    if (!has_parent || open_part(folder.parent_->number(), last.c_str(), folder.folder_)) {
        if (const Failed failed = walk_to(parent, last, folder)) {
            folder.leave();
            return failed;
        }
    }
    folder.name_ = name;
    return {};
}

/// Enters `parent` and then `last` in it. Either may be "".
Failed TensorFolder::walk_to(const std::string& parent, const std::string& last, OpenFolder& folder) const {
    folder.uses_ = 0;
    Failed failed = open_root(files_, folder);
    if (!failed && !parent.empty()) {
        failed = open_part(folder.number(), parent.c_str(), folder.parent_);
        folder.parent_name_ = parent;
    }
    if (!failed && !last.empty()) {
        const int in = folder.parent_ ? folder.parent_->number() : folder.number();
        failed = open_part(in, last.c_str(), folder.folder_);
    }
    if (!keeps_open_) folder.parent_.reset();
    return failed;
}

void TensorFolder::remove_folder(const std::string& name) const {
    OpenFolder root;
    if (!open_root(files_, root)) (void)calls_->unlink_at(root.number(), name.c_str(), AT_REMOVEDIR);
}

void TensorFolder::tidy() const {
    if (naming_ == Naming::from_hidden) remove_folder(kHidden);
}

/// Tries it once with a probe, because there is no other way to find out whether an unnamed file can get a
/// name here.
void TensorFolder::find_out_naming() {
    OpenFolder root;
    if (open_root(files_, root)) return;
    struct statvfs disk {};
    if (calls_->inspect_disk(root.number(), &disk) == 0 && disk.f_namemax != 0)
        longest_name_ = disk.f_namemax;
    const std::string probe = ".probe-" + std::to_string(getpid());
    for (const Naming naming : {Naming::by_descriptor, Naming::by_proc}) {
        naming_ = naming;
        TensorFile file(*this);
        if (file.create(root)) break;
        if (file.publish(root, probe.c_str())) continue;
        (void)calls_->unlink_at(root.number(), probe.c_str(), 0);
        return;
    }
    naming_ = Naming::from_hidden;
}

}  // namespace aoti_dbg
