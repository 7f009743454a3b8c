// Rewrites the index without the lines of removed runs. The new file is renamed over the old one only once it
// is whole. A reader, even after a kill, finds either the old or the new file. Both list everything that
// exists.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/fnv.hpp"
#include "serializer/tensor_index_jsonl.hpp"
#include "shim/record/written_bytes.hpp"
#include "shim/save/tensor_index.hpp"

namespace aoti_dbg {
namespace {

constexpr int kRead = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
constexpr int kMake = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
constexpr std::size_t kCopiedPiece = std::size_t{1} << 18U;

/// A descriptor that the program may close if it shares our descriptor table. Its number may then belong to a
/// file of the program, so it is neither used nor closed.
class OpenFile {
  public:
    OpenFile(const FileCalls& calls, bool is_shared) : calls_(calls), is_shared_(is_shared) {}
    ~OpenFile() {
        if (number_ >= 0 && is_ours()) (void)calls_.close(number_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    bool open(int folder, const char* name, int flags) {
        number_ = calls_.open_at(folder, name, flags, 0600);
        struct stat found {};
        if (number_ < 0) return false;
        if (calls_.inspect(number_, "", &found) != 0) {
            const int error = errno;
            (void)calls_.close(number_);
            number_ = -1;
            errno = error;
            return false;
        }
        device_ = found.st_dev;
        inode_ = found.st_ino;
        return true;
    }
    [[nodiscard]] bool is_ours() const {
        struct stat found {};
        if (!is_shared_) return true;
        return calls_.inspect(number_, "", &found) == 0 ? is(found) : errno != EBADF;
    }
    [[nodiscard]] bool is(const struct stat& found) const {
        return found.st_dev == device_ && found.st_ino == inode_;
    }
    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] dev_t device() const { return device_; }
    [[nodiscard]] ino_t inode() const { return inode_; }
    int release() {
        const int number = number_;
        number_ = -1;
        return number;
    }

  private:
    const FileCalls& calls_;
    bool is_shared_;
    int number_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace

/// Reads the old file in pieces and writes the lines that stay.
class TensorIndex::Copy {
  public:
    Copy(const TensorIndex& index, const OpenFile& to) : index_(index), to_(to) {}

    Failed take(std::string_view piece) {
        rest_ += piece;
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
            const std::string_view line(rest_.data() + begin, end + 1 - begin);
            take_line(line);
            if (at_ == 0) append_index_compacted(index_.gone_runs_, index_.gone_files_, out_);
            at_ += line.size();
        }
        rest_.erase(0, begin);
        return out_.size() < kCopiedPiece ? Failed{} : flush();
    }
    Failed flush() {
        if (out_.empty()) return {};
        const FileCalls& calls = index_.folder_.calls();
        if (!to_.is_ours()) return {EBADF, "the program closed one of the library's files in"};
        ssize_t written = -1;
        do {
            written = calls.append(to_.number(), out_.data(), out_.size());
        } while (written < 0 && errno == EINTR);
        if (written != static_cast<ssize_t>(out_.size()))
            return {written < 0 ? errno : ENOSPC, "cannot write the index in"};
        bytes_ += out_.size();
        out_.clear();
        return {};
    }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    void take_line(std::string_view line) {
        const IndexLine is = index_line_of(line);
        if (!index_.stays(line, is, at_)) {
            if (is.kind == IndexLine::Kind::file) heirs_[fnv1a(is.path)] = heir_of(is.linked_to);
            return;
        }
        const auto gone = is.linked_to.empty() ? heirs_.end() : heirs_.find(fnv1a(is.linked_to));
        if (gone == heirs_.end()) {
            out_ += line;
            return;
        }
        append_relinked(line, is, *gone->second, out_);
        if (gone->second->empty()) *gone->second = is.path;
    }
    /// Returns what replaces a removed path and all other names of its file. It may not be known yet.
    std::shared_ptr<std::string> heir_of(std::string_view linked_to) {
        const auto gone = linked_to.empty() ? heirs_.end() : heirs_.find(fnv1a(linked_to));
        return gone != heirs_.end() ? gone->second : std::make_shared<std::string>(linked_to);
    }

    const TensorIndex& index_;
    const OpenFile& to_;
    // Maps a hash of each removed path to the first remaining name of that file.
    std::unordered_map<std::uint64_t, std::shared_ptr<std::string>> heirs_;
    std::string rest_;  // the incomplete last line
    std::string out_;
    std::uint64_t at_ = 0;
    std::uint64_t bytes_ = 0;
};

bool TensorIndex::stays(std::string_view line, const IndexLine& is, std::uint64_t at) const {
    if (is.kind == IndexLine::Kind::evicted || is.kind == IndexLine::Kind::compacted) return false;
    if (is.kind == IndexLine::Kind::other) return line.front() == '{';
    const auto gone = gone_.find(is.run);
    return gone == gone_.end() || at >= gone->second;
}

void TensorIndex::compact_if_due() {
    if (dead_ < compact_at_ || dead_ < bytes() / 2) return;
    const std::uint64_t before = bytes();
    if (const Failed failed = compact()) {
        compact_at_ = 2 * dead_;
        return;
    }
    count_written_bytes(static_cast<std::int64_t>(bytes()) - static_cast<std::int64_t>(before));
    gone_.clear();
    dead_ = 0;
    compact_at_ = least_dead_;
    ends_torn_ = false;
}

Failed TensorIndex::compact() {
    const FileCalls& calls = folder_.calls();
    const bool is_shared = !folder_.keeps_open();
    file_.reset();
    OpenFolder home;
    if (const Failed failed = folder_.enter_home(home)) return failed;
    OpenFile from(calls, is_shared);
    if (!from.open(home.number(), kName, kRead)) return {errno, "cannot open the index in"};
    if (from.device() != device_ || from.inode() != inode_)
        return {ESTALE, "another file has replaced the index in"};
    OpenFile to(calls, is_shared);
    if (!to.open(home.number(), kNewName, kMake)) return {errno, "cannot create the index in"};

    Copy copy(*this, to);
    std::vector<char> piece(kCopiedPiece);
    Failed failed;
    for (std::uint64_t at = 0; !failed && at < bytes();) {
        const std::size_t size = std::min<std::uint64_t>(piece.size(), bytes() - at);
        const ssize_t read = calls.read_at(from.number(), piece.data(), size, static_cast<off_t>(at));
        if (read < 0 && errno == EINTR) continue;
        if (read <= 0) failed = {read < 0 ? errno : EIO, "cannot read the index in"};
        if (!failed) failed = copy.take({piece.data(), static_cast<std::size_t>(read)});
        at += static_cast<std::uint64_t>(read);
    }
    if (!failed) failed = copy.flush();
    struct stat found {};
    if (!failed && calls.inspect(home.number(), kName, &found) != 0)
        failed = {errno, "cannot inspect the index in"};
    const bool is_as_known = from.is(found) && static_cast<std::uint64_t>(found.st_size) == bytes();
    if (!failed && (!is_as_known || !from.is_ours() || !to.is_ours()))
        failed = {ESTALE, "another file has replaced the index in"};
    if (!failed && calls.rename_at(home.number(), kNewName, home.number(), kName) != 0)
        failed = {errno, "cannot replace the index in"};
    if (failed) {
        (void)calls.unlink_at(home.number(), kNewName, 0);
        return failed;
    }
    device_ = to.device();
    inode_ = to.inode();
    bytes_.store(copy.bytes(), std::memory_order_relaxed);
    if (folder_.keeps_open()) file_.emplace(to.release());
    uses_ = 0;
    return {};
}

}  // namespace aoti_dbg
