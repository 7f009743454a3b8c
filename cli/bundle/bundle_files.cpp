#include "cli/bundle/bundle_files.hpp"

#include <sys/stat.h>

#include <utility>

#include "base/file_bytes.hpp"
#include "base/mapped_file.hpp"
#include "serializer/crc32.hpp"
#include "serializer/zip_reader.hpp"

namespace aoti_dbg::cli {

bool is_bundle(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    const Descriptor file = open_to_read(path);
    std::string begin(2, '\0');
    return path.ends_with(".aotidbg") || (read_fully(file.number(), begin) && begin == "PK");
}

Result<std::shared_ptr<BundleFiles>> BundleFiles::open_bundle(const std::string& path) {
    Result<FileContents> file = FolderFiles().open(path);
    if (!file.ok()) return file.status();
    return read(file.value().bytes, std::move(file.value().owner), path);
}

Result<std::shared_ptr<BundleFiles>> BundleFiles::read(std::span<const std::byte> bytes,
                                                       std::shared_ptr<const void> owner, std::string name) {
    std::shared_ptr<BundleFiles> files(new BundleFiles(std::move(owner), std::move(name)));
    const Result<ZipReader> archive = ZipReader::open(bytes);
    if (!archive.ok()) return files->failure(archive.status().message());
    const Result<std::vector<ZipMember>> members = archive.value().members();
    if (!members.ok()) return files->failure(members.status().message());
    for (const ZipMember& member : members.value())
        files->members_.try_emplace(std::string(member.name),
                                    Member{member.record.content, member.record.crc, false});
    if (Status checked = files->check_manifest(); !checked.ok()) return checked;
    return files;
}

Status BundleFiles::check_manifest() {
    const std::string name(kManifestName);
    if (members_.find(name) == members_.end())
        return failure("it is not an aoti-dbg bundle: it has no " + name);
    const Result<FileContents> contents = open(name);
    if (!contents.ok()) return contents.status();
    const Result<BundleManifest> manifest = read_manifest(contents.value().text());
    if (!manifest.ok()) return failure(manifest.status().message());
    for (const BundleMember& member : manifest.value().members) {
        const auto found = members_.find(member.name);
        if (found == members_.end() || found->second.bytes.size() != member.bytes)
            return failure("its member " + member.name + " is damaged. Copy or create the bundle again");
    }
    return {};
}

Result<FileContents> BundleFiles::open(const std::string& path) {
    const auto found = members_.find(path);
    if (found == members_.end()) return failure("it has no member " + path);
    Member& member = found->second;
    if (!member.is_checked && crc32(0, member.bytes) != member.crc)
        return failure("its member " + path + " is damaged. Copy or create the bundle again");
    member.is_checked = true;
    return FileContents{member.bytes, owner_, true};
}

Result<std::vector<std::string>> BundleFiles::files_in(const std::string& folder) {
    std::vector<std::string> paths;
    const std::string prefix = folder + "/";
    for (auto at = members_.lower_bound(prefix); at != members_.end() && at->first.starts_with(prefix); ++at)
        if (at->first.find('/', prefix.size()) == std::string::npos) paths.push_back(at->first);
    return paths;
}

}  // namespace aoti_dbg::cli
