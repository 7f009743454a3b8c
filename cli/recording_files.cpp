#include "cli/recording_files.hpp"

#include <filesystem>
#include <utility>

#include "base/file_failure.hpp"
#include "base/mapped_file.hpp"

namespace aoti_dbg::cli {

namespace fs = std::filesystem;

Result<FileContents> FolderFiles::open(const std::string& path) {
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped.ok()) {
        const int error = mapped.status().error_number();
        return error == 0 ? mapped.status() : file_failure("cannot read", path, error);
    }
    auto file = std::make_shared<const MappedFile>(std::move(mapped.value()));
    return FileContents{file->bytes(), file};
}

Result<std::vector<std::string>> FolderFiles::files_in(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        paths.push_back(entry->path().string());
    if (error) return file_failure("cannot read", folder, error.value());
    return paths;
}

}  // namespace aoti_dbg::cli
