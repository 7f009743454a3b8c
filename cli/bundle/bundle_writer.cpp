#include "cli/bundle/bundle_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/descriptor.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "cli/bundle/redacted_tensor.hpp"
#include "serializer/crc32.hpp"
#include "serializer/pt_file.hpp"
#include "serializer/zip_writer.hpp"

namespace aoti_dbg::cli {
namespace {

std::string in_the_way(const std::string& path, const char* remedy) {
    return "cannot create " + path + ": it exists. " + remedy;
}

/// Returns what failed, why and the remedy, without the last period.
Status output_failure(const char* what, const std::string& path, int error) {
    std::string remedy = remedy_for(error, "--output", PlaceKind::file);
    if (remedy.ends_with('.')) remedy.pop_back();
    return Status::error(file_failure(what, path, error).message() + ". " + remedy);
}

/// Removes the unfinished file, unless it was renamed.
class Unfinished {
  public:
    explicit Unfinished(std::string path)
        : path_(std::move(path)),
          file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)) {
        error_ = file_.number() < 0 ? errno : 0;
    }
    ~Unfinished() {
        if (file_.number() >= 0 && !is_renamed_) unlink(path_.c_str());
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    [[nodiscard]] Status opened() const {
        if (error_ == 0) return {};
        if (error_ == EEXIST)
            return Status::error(in_the_way(path_, "Remove it, if no other aoti-dbg is writing this bundle"));
        return output_failure("cannot create", path_, error_);
    }
    Status write(std::span<const std::byte> bytes) {
        const int error =
            write_fully(file_.number(), reinterpret_cast<const char*>(bytes.data()), bytes.size());
        written_ += bytes.size();
        return error == 0 ? Status() : output_failure("cannot write", path_, error);
    }
    Status rename_to(const std::string& path) {
        int failed = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
        // Some file systems cannot refuse to replace.
        if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
            struct stat info {};
            const bool is_free = lstat(path.c_str(), &info) != 0;
            failed = is_free ? std::rename(path_.c_str(), path.c_str()) : -1;
            if (!is_free) errno = EEXIST;
        }
        is_renamed_ = failed == 0;
        if (is_renamed_) return {};
        if (errno == EEXIST) return Status::error(in_the_way(path, "Name another file with --output"));
        return output_failure("cannot create", path, errno);
    }
    [[nodiscard]] std::uint64_t written() const { return written_; }

  private:
    std::string path_;
    Descriptor file_;
    int error_ = 0;
    bool is_renamed_ = false;
    std::uint64_t written_ = 0;
};

class Writer {
  public:
    Writer(Unfinished& to, RecordingFiles& files) : to_(to), files_(files) {}

    Status add(const BundlePart& part) {
        if (part.file.empty()) return add_pieces(part, {std::as_bytes(std::span(part.text))});
        const Result<FileContents> contents = files_.open(part.file);
        if (!contents.ok()) return contents.status();
        if (!part.seed) return add_pieces(part, {contents.value().bytes});
        const Result<RedactedTensor> tensor = redacted_tensor(contents.value().bytes, *part.seed);
        if (!tensor.ok())
            return Status::error("cannot read " + files_.shown(part.file) + ": " + tensor.status().message());
        const RedactedTensor& redacted = tensor.value();
        return add_pieces(part, {redacted.frame.head, redacted.storage, redacted.frame.tail});
    }

    Status finish() {
        archive_.finish();
        return to_.write(archive_.take());
    }

  private:
    Status add_pieces(const BundlePart& part, const std::vector<std::span<const std::byte>>& pieces) {
        std::uint64_t bytes = 0;
        std::uint32_t crc = 0;
        for (const std::span<const std::byte> piece : pieces) {
            bytes += piece.size();
            crc = crc32(crc, piece);
        }
        if (bytes != part.bytes) return Status::error(files_.shown(part.file) + " changed while it was read");
        archive_.begin(part.name, bytes);
        Status written = to_.write(archive_.take());
        for (const std::span<const std::byte> piece : pieces)
            if (written.ok()) written = to_.write(piece);
        archive_.end(crc);
        return written.ok() ? to_.write(archive_.take()) : written;
    }

    Unfinished& to_;
    RecordingFiles& files_;
    // Tensors keep the alignment that they have in their own file.
    ZipWriter archive_{"", kPtAlignment};
};

}  // namespace

Result<std::uint64_t> write_bundle(const std::string& path, const BundleContents& contents,
                                   RecordingFiles& files) {
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0)
        return Status::error(in_the_way(path, "Name another file with --output"));
    BundlePart manifest{std::string(kManifestName), 0, render_manifest(contents.manifest), {}, {}};
    manifest.bytes = manifest.text.size();
    Unfinished file(path + ".part");
    if (Status opened = file.opened(); !opened.ok()) return opened;
    Writer writer(file, files);
    Status written = writer.add(manifest);
    for (const BundlePart& part : contents.parts)
        if (written.ok()) written = writer.add(part);
    if (written.ok()) written = writer.finish();
    if (written.ok()) written = file.rename_to(path);
    if (!written.ok()) return written;
    return file.written();
}

}  // namespace aoti_dbg::cli
