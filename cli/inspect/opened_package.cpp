#include "cli/inspect/opened_package.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/clean_text.hpp"
#include "base/message.hpp"
#include "base/temporary_folder.hpp"
#include "serializer/crc32.hpp"
#include "serializer/zip_reader.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// A package has a dozen files, and one with many models some hundreds.
constexpr std::size_t kMostFiles = 4096;
constexpr std::size_t kMostEntries = std::size_t{1} << 16U;
constexpr int kDeepestFolder = 8;

bool is_of_model(std::string_view path) {
    for (const std::string_view ending : {".so", ".cpp", ".json", ".cubin"})
        if (path.ends_with(ending)) return true;
    return false;
}

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.starts_with(magic);
}

/// Returns the part of a file name that a model's files share: X for X.wrapper.so and
/// X.wrapper_metadata.json.
std::string_view first_part(std::string_view name) {
    return name.substr(0, name.find('.'));
}

}  // namespace

Result<OpenedPackage> OpenedPackage::open(const std::string& path) {
    std::error_code failed;
    if (fs::is_directory(path, failed)) return open_folder(path);
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped.ok()) return mapped.status();
    const std::span<const std::byte> bytes = mapped.value().bytes();
    if (bytes.empty()) return Status::error("the file is empty. Copy or compile it again");
    if (starts_with(bytes, "PK")) return open_archive(std::move(mapped.value()));
    if (starts_with(bytes, "\177ELF")) return open_file(path, Kind::library);
    if (path.ends_with(".cpp")) return open_file(path, Kind::source);
    if (path.ends_with(".py"))
        return Status::error(
            "a Python wrapper has no package. Run the program under `aoti-dbg run --level 3` to list the "
            "kernels of torch.compile");
    if (path.ends_with(".pt2"))
        return Status::error("it is not a zip archive. It may have been altered: copy or compile it again");
    return Status::error("it is neither a package (.pt2) nor a library (.so) nor a folder with one");
}

Result<OpenedPackage> OpenedPackage::open_archive(MappedFile archive) {
    OpenedPackage opened(Kind::package, {});
    const Result<ZipReader> reader = ZipReader::open(archive.bytes());
    if (!reader.ok()) return reader.status();
    const Result<std::vector<ZipMember>> members = reader.value().members();
    if (!members.ok()) return members.status();
    for (const ZipMember& member : members.value()) {
        if (!is_of_model(member.name) || opened.files_.size() >= kMostFiles) continue;
        if (crc32(0, member.record.content) != member.record.crc)
            return Status::error("a damaged zip archive: the checksum of " + std::string(member.name) +
                                 " differs. Copy or compile it again");
        opened.files_.push_back({std::string(member.name), member.record.content});
    }
    std::ranges::sort(opened.files_, {}, &PackagedFile::path);
    opened.mapped_.push_back(std::move(archive));
    return opened;
}

Status OpenedPackage::add(const std::string& path) {
    if (files_.size() >= kMostFiles) return {};
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped.ok()) return mapped.status();
    files_.push_back({path, mapped.value().bytes()});
    mapped_.push_back(std::move(mapped.value()));
    return {};
}

Result<OpenedPackage> OpenedPackage::open_folder(const std::string& path) {
    OpenedPackage opened(Kind::folder, {});
    std::error_code failed;
    fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, failed);
    if (failed) return Status::error(failed.message());
    std::vector<std::string> found;
    for (std::size_t seen = 0; at != fs::recursive_directory_iterator() && seen < kMostEntries; ++seen) {
        std::error_code unknown;
        if (at.depth() >= kDeepestFolder) at.disable_recursion_pending();
        if (is_of_model(at->path().native()) && at->is_regular_file(unknown)) found.push_back(at->path());
        at.increment(failed);
        if (failed) break;
    }
    std::ranges::sort(found);
    for (const std::string& file : found)
        if (const Status added = opened.add(file); !added.ok())
            message(Severity::warn, "%s. The model is described without it.",
                    clean_text(added.message()).c_str());
    return opened;
}

Result<OpenedPackage> OpenedPackage::open_file(const std::string& path, Kind kind) {
    OpenedPackage opened(kind, path);
    const fs::path own(path);
    const std::string folder = own.has_parent_path() ? own.parent_path().native() + "/" : std::string();
    // The folder can contain other files.
    const bool is_shared = is_temporary_folder(folder);
    const std::string name = own.filename();
    std::error_code failed;
    std::vector<std::string> found = {path};
    fs::directory_iterator at(folder.empty() ? fs::path(".") : fs::path(folder), failed);
    for (std::size_t seen = 0; !failed && at != fs::directory_iterator() && seen < kMostEntries; ++seen) {
        std::error_code unknown;
        const std::string other = at->path().filename();
        const bool is_own = !is_shared || first_part(other) == first_part(name) ||
                            other.starts_with(std::string(first_part(name)) + "_metadata");
        if (other != name && is_own && is_of_model(other) && at->is_regular_file(unknown))
            found.push_back(folder + other);
        at.increment(failed);
    }
    std::ranges::sort(found);
    for (const std::string& file : found)
        (void)opened.add(file);  // may be unrelated
    return opened;
}

}  // namespace aoti_dbg::cli
