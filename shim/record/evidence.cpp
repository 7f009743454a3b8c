#include "shim/record/evidence.hpp"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_bytes.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/temporary_folder.hpp"
#include "serializer/number_text.hpp"
#include "shim/record/written_bytes.hpp"

namespace aoti_dbg {
namespace {

constexpr int kMostEntries = 4096;  // limit per directory, because a compiler's cache can have many more
constexpr std::size_t kBlock = std::size_t{256} << 10U;
constexpr const char* kSites = "/sites.json";
constexpr std::size_t kLongestName = 100;  // limit for the model's part of the folder name

constexpr std::array<std::string_view, 6> kEndings = {".cpp", ".json", ".cubin", ".ptx", ".hsaco", ".spv"};

Status failure(const std::string& what, const std::string& path) {
    return file_failure(what, path, errno);
}

struct File {
    std::string name;
    std::uint64_t bytes = 0;
};

/// FNV-1a over words of eight bytes. It is fast, and no attacker controls the input.
class ContentHash {
  public:
    void add(const char* bytes, std::size_t count) {
        for (; count >= sizeof(std::uint64_t);
             bytes += sizeof(std::uint64_t), count -= sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            memcpy(&word, bytes, sizeof word);
            mix(word);
        }
        std::uint64_t rest = 0;
        memcpy(&rest, bytes, count);
        mix(rest ^ (std::uint64_t{count} << 56U));
    }
    void add(const std::string& text) { add(text.data(), text.size()); }
    void add(std::uint64_t number) { mix(number); }
    /// Returns twelve hexadecimal digits.
    [[nodiscard]] std::string text() const {
        std::string digits;
        append_hex(state_ ^ (state_ >> 29U), digits);
        return digits.substr(4);
    }

  private:
    void mix(std::uint64_t word) {
        state_ = (state_ ^ word) * 0x100000001b3U;
        state_ ^= state_ >> 32U;
    }
    std::uint64_t state_ = 0xcbf29ce484222325U;
};

/// Calls `take(bytes, count)` for all of the file. Returns false if the file is unreadable or `take` returns
/// false.
template <typename Take>
bool read_blocks(const std::string& path, const Take& take) {
    const Descriptor file = open_to_read(path);
    std::vector<char> block(kBlock);
    while (file.number() >= 0) {
        const ssize_t got = read(file.number(), block.data(), block.size());
        if (got == 0) return true;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 || !take(block.data(), static_cast<std::size_t>(got))) return false;
    }
    return false;
}

/// Returns false and sets errno on failure. Beyond the file size limit, it fails with EFBIG and raises no
/// signal.
bool write_all(int descriptor, const char* bytes, std::size_t count) {
    const int error = write_fully(descriptor, bytes, count);
    if (error != 0) errno = error;
    return error == 0;
}

/// The model's library, or Python wrapper, and the files next to it.
struct Package {
    std::string folder;  // with its slash
    std::string library;
    std::uint64_t library_bytes = 0;
    std::string build_id;
    std::vector<File> files;
    std::uint64_t left_out = 0;
    std::string_view sites;  // the contents of sites.json; empty: the sources say it all

    /// Returns "cabc" for "cabc.wrapper.so".
    [[nodiscard]] std::string stem() const {
        std::string name = library;
        for (const std::string_view ending : {".py", ".so", ".wrapper"})
            if (name.ends_with(ending)) name.resize(name.size() - ending.size());
        return name;
    }
};

/// Returns the GNU build id of a 64-bit ELF file in hexadecimal digits, or "" if there is none.
std::string build_id_of(const std::string& path) {
    const Descriptor file = open_to_read(path);
    const auto read_at = [&](std::uint64_t at, void* to, std::size_t bytes) {
        return pread(file.number(), to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
    };
    Elf64_Ehdr header{};
    if (!read_at(0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(header.e_phnum, 64); ++i) {
        Elf64_Phdr segment{};
        if (!read_at(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return {};
        if (segment.p_type != PT_NOTE) continue;
        for (std::uint64_t at = 0;
             at + sizeof(Elf64_Nhdr) < std::min<std::uint64_t>(segment.p_filesz, 4096);) {
            Elf64_Nhdr note{};
            if (!read_at(segment.p_offset + at, &note, sizeof note)) return {};
            const auto aligned = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
            const std::uint64_t content = at + sizeof note + aligned(note.n_namesz);
            std::array<unsigned char, 64> id{};
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= id.size() &&
                read_at(segment.p_offset + content, id.data(), note.n_descsz)) {
                std::string text;
                append_hex({id.data(), note.n_descsz}, text);
                return text;
            }
            at = content + aligned(note.n_descsz);
        }
    }
    return {};
}

/// Returns the files to keep, sorted by name, or nothing if the library is gone. If several models share the
/// folder, or all programs do, only files with this model's name belong to it.
std::optional<Package> inspect(const std::string& library) {
    const std::size_t slash = library.rfind('/') + 1;
    Package package{library.substr(0, slash), library.substr(slash), 0, {}, {}, 0, {}};
    struct stat info {};
    if (stat(library.c_str(), &info) != 0) return std::nullopt;
    package.library_bytes = static_cast<std::uint64_t>(info.st_size);
    if (library.ends_with(".py")) {  // it is its own source
        package.files.push_back({package.library, package.library_bytes});
        return package;
    }
    package.build_id = build_id_of(library);
    DIR* const directory = opendir(package.folder.empty() ? "." : package.folder.c_str());
    if (directory == nullptr) return std::nullopt;
    int libraries = 0;
    std::vector<std::string> names;
    for (int i = 0; i < kMostEntries; ++i) {
        const dirent* const entry = readdir(directory);
        if (entry == nullptr) break;
        const std::string_view name = entry->d_name;
        libraries += name.ends_with(".so") ? 1 : 0;
        if (std::any_of(kEndings.begin(), kEndings.end(),
                        [name](std::string_view ending) { return name.ends_with(ending); }))
            names.emplace_back(name);
    }
    closedir(directory);
    std::sort(names.begin(), names.end());
    const bool is_shared = libraries > 1 || is_temporary_folder(package.folder);
    const std::string own = package.stem() + ".";
    const std::string own_data = package.stem() + "_";
    for (std::string& name : names) {
        if (is_shared && !name.starts_with(own) && !name.starts_with(own_data)) continue;
        if (stat((package.folder + name).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
            ++package.left_out;
        } else {
            package.files.push_back({std::move(name), static_cast<std::uint64_t>(info.st_size)});
        }
    }
    return package;
}

/// Leaves out files beyond the limit. Returns the remaining number of bytes.
std::uint64_t keep_within(std::uint64_t most_bytes, Package& package) {
    std::uint64_t kept = 0;
    std::erase_if(package.files, [&](const File& file) {
        const bool fits = file.bytes <= most_bytes - kept;
        kept += fits ? file.bytes : 0;
        package.left_out += fits ? 0 : 1;
        return !fits;
    });
    return kept;
}

std::string hash_of(const Package& package) {
    ContentHash hash;
    hash.add(package.library);
    hash.add(package.library_bytes);
    hash.add(package.build_id);
    if (!package.sites.empty()) hash.add(package.sites.data(), package.sites.size());
    for (const File& file : package.files) {
        hash.add(file.name);
        hash.add(file.bytes);
        (void)read_blocks(package.folder + file.name, [&](const char* bytes, std::size_t count) {
            hash.add(bytes, count);
            return true;
        });
    }
    return hash.text();
}

Status copy_file(const std::string& from, const std::string& to) {
    const Descriptor file(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.number() < 0) return failure("cannot create", to);
    const bool whole = read_blocks(
        from, [&](const char* bytes, std::size_t count) { return write_all(file.number(), bytes, count); });
    return whole ? Status() : failure("cannot copy " + from + " to", to);
}

Status keep_file(const std::string& from, const std::string& to) {
    // Linking fails across file systems and for files of other users, so copy the file.
    if (link(from.c_str(), to.c_str()) == 0) return {};
    return copy_file(from, to);
}

/// Quotes a file name as a JSON string. Bytes outside printable ASCII become `?`.
std::string json_string(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c >= 0x20 && c < 0x7F ? c : '?';
    }
    return quoted + "\"";
}

/// Returns the end of library.json.
std::string description_of(const TorchLibrary& torch) {
    const std::string members =
        ",\"torch\":" + json_string(torch.version) + ",\"torch_library\":" + json_string(torch.path);
    return (torch.version.empty() ? "" : members) + "}\n";
}

Status write_new(std::string_view text, const std::string& to) {
    const Descriptor file(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.number() < 0 || !write_all(file.number(), text.data(), text.size()))
        return failure("cannot write", to);
    return {};
}

Status describe_library(const Package& package, const TorchLibrary& torch, const std::string& to) {
    const std::string text = "{\"library\":" + json_string(package.library) +
                             ",\"path\":" + json_string(package.folder + package.library) +
                             ",\"bytes\":" + std::to_string(package.library_bytes) +
                             ",\"build_id\":" + json_string(package.build_id) +
                             ",\"left_out\":" + std::to_string(package.left_out) + description_of(torch);
    return write_new(text, to);
}

/// Updates an existing folder, because an earlier run may have written it with another torch.
void describe_torch_again(const Package& package, const TorchLibrary& torch, const std::string& folder,
                          const std::string& unfinished) {
    const std::string path = folder + "/library.json";
    std::string text;
    (void)read_blocks(path, [&text](const char* bytes, std::size_t count) {
        text.append(bytes, count);
        return text.size() < kBlock;
    });
    const std::size_t at = std::min(text.find(",\"torch\":"), text.rfind('}'));
    if (at != std::string::npos && text.substr(at) == description_of(torch)) return;
    if (!describe_library(package, torch, unfinished).ok() || rename(unfinished.c_str(), path.c_str()) != 0)
        unlink(unfinished.c_str());
}

Status fill(const Package& package, const TorchLibrary& torch, const std::string& folder) {
    if (mkdir(folder.c_str(), 0700) != 0) return failure("cannot create directory", folder);
    for (const File& file : package.files) {
        Status kept = keep_file(package.folder + file.name, folder + "/" + file.name);
        if (!kept.ok()) return kept;
    }
    if (!package.sites.empty()) {
        Status kept = write_new(package.sites, folder + kSites);
        if (!kept.ok()) return kept;
    }
    return describe_library(package, torch, folder + "/library.json");
}

void remove_folder(const Package& package, const std::string& folder) {
    for (const File& file : package.files)
        unlink((folder + "/" + file.name).c_str());
    unlink((folder + "/library.json").c_str());
    unlink((folder + kSites).c_str());
    rmdir(folder.c_str());
}

/// Returns a valid file name.
std::string folder_name(const Package& package) {
    std::string name = package.stem().substr(0, kLongestName);
    return (name.empty() ? "model" : name) + "-" + hash_of(package);
}

}  // namespace

Result<KeptEvidence> keep_evidence(const std::string& library, const std::string& out,
                                   std::uint64_t most_bytes, const TorchLibrary& torch,
                                   std::string_view sites) {
    static std::atomic<std::uint32_t> attempts{0};
    std::optional<Package> package = inspect(library);
    if (!package) return KeptEvidence{};
    package->sites = sites;
    const std::uint64_t bytes = keep_within(most_bytes, *package);
    const std::string all = out + "/evidence";
    KeptEvidence kept{all + "/" + folder_name(*package), 0, package->left_out};
    const std::string unfinished =
        all + "/." + std::to_string(getpid()) + "-" + std::to_string(attempts.fetch_add(1)) + ".unfinished";
    if (access(kept.folder.c_str(), F_OK) == 0) {
        describe_torch_again(*package, torch, kept.folder, unfinished);
        return kept;
    }
    if (mkdir(all.c_str(), 0700) != 0 && errno != EEXIST) return failure("cannot create directory", all);

    Status status = fill(*package, torch, unfinished);
    if (status.ok() && rename(unfinished.c_str(), kept.folder.c_str()) == 0) {
        kept.bytes = bytes;
        count_written_bytes(static_cast<std::int64_t>(bytes));
        return kept;
    }
    // Another thread or process may have been faster. Its folder then exists and is not empty.
    const bool is_there = status.ok() && (errno == EEXIST || errno == ENOTEMPTY);
    if (status.ok() && !is_there) status = failure("cannot rename " + unfinished + " to", kept.folder);
    remove_folder(*package, unfinished);
    if (is_there) return kept;
    return status;
}

Status note_model(const ModelOfPackage& model, const std::string& folder) {
    const std::string path = folder + "/models.jsonl";
    const std::string source = model.source.empty() ? "" : ",\"source\":" + json_string(model.source);
    const std::string line = "{\"pid\":" + std::to_string(model.pid) +
                             ",\"start_ns\":" + std::to_string(model.start_unix_ns) +
                             ",\"model\":" + std::to_string(model.model) +
                             ",\"path\":" + json_string(model.library) + source + "}\n";
    const Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.number() < 0 || !write_all(file.number(), line.data(), line.size()))
        return failure("cannot write", path);
    count_written_bytes(static_cast<std::int64_t>(line.size()));
    return {};
}

}  // namespace aoti_dbg
