// Opens what `aoti-dbg inspect` reads: a package, an unpacked one, a model's library or its wrapper source.
// It extracts nothing to disk, and must accept any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.hpp"
#include "base/status.hpp"

namespace aoti_dbg::cli {

struct PackagedFile {
    std::string path;  // inside the package, or as on disk
    std::span<const std::byte> bytes;

    [[nodiscard]] std::string_view text() const {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
};

class OpenedPackage {
  public:
    enum class Kind : std::uint8_t { package, folder, library, source };

    /// The message of a failure is what follows `cannot read PATH: `, without a full stop.
    static Result<OpenedPackage> open(const std::string& path);

    [[nodiscard]] Kind kind() const { return kind_; }
    /// Returns the files that can belong to a model, sorted by path.
    [[nodiscard]] const std::vector<PackagedFile>& files() const { return files_; }
    /// Returns the path of the only file to describe, or an empty text if it is the whole package.
    [[nodiscard]] const std::string& only() const { return only_; }

  private:
    OpenedPackage(Kind kind, std::string only) : kind_(kind), only_(std::move(only)) {}
    static Result<OpenedPackage> open_archive(MappedFile archive);
    static Result<OpenedPackage> open_folder(const std::string& path);
    static Result<OpenedPackage> open_file(const std::string& path, Kind kind);
    Status add(const std::string& path);

    Kind kind_;
    std::string only_;
    std::vector<MappedFile> mapped_;
    std::vector<PackagedFile> files_;
};

}  // namespace aoti_dbg::cli
