// See preloadable.hpp. Follows the kernel and execvp(): `#!` lines, ELF header, program headers. An unclear
// case counts as no obstacle, because running the program decides it.
#include "cli/run/preloadable.hpp"

#include <elf.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/file_bytes.hpp"

// The linker's name for the start of this executable, which is built for the same machine as the library.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLongestChain = 8;              // the kernel follows five scripts; `env` adds its own
constexpr std::size_t kScriptLine = 256;      // BINPRM_BUF_SIZE, the part that the kernel reads
constexpr std::size_t kLargestTable = 65536;  // of program headers; the kernel accepts no larger one

class File {
  public:
    explicit File(const std::string& path) : descriptor_(open_to_read(path)) {}
    [[nodiscard]] bool is_open() const { return descriptor_.number() >= 0; }
    /// Returns up to `length` bytes from `offset`: fewer at the end of the file, none if the file cannot be
    /// read.
    [[nodiscard]] std::string bytes(std::uint64_t offset, std::size_t length) const {
        if (offset > static_cast<std::uint64_t>(INT64_MAX)) return {};
        std::string piece(length, '\0');
        const ssize_t count = pread(descriptor_.number(), piece.data(), length, static_cast<off_t>(offset));
        piece.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return piece;
    }

  private:
    Descriptor descriptor_;
};

/// Returns `count` consecutive values of type T, or none if the file ends before them.
template <typename T>
std::vector<T> values_at(const File& file, std::uint64_t offset, std::size_t count) {
    const std::string bytes = file.bytes(offset, count * sizeof(T));
    std::vector<T> values(bytes.size() == count * sizeof(T) ? count : 0);
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

std::string name_of(const std::string& path) {
    return fs::path(path).filename().string();
}

/// Whether a file with these rights makes the loader distrust its environment (AT_SECURE). The kernel
/// compares the effective ids after the start with the real ids before it.
bool starts_securely(const std::string& path, const struct stat& info, const Caller& caller) {
    struct statvfs system {};
    if (!caller.may_gain_rights) return false;
    if (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return false;
    if ((info.st_mode & S_ISUID) != 0 && info.st_uid != caller.user) return true;
    // Without group execute permission, the bit has another meaning.
    const bool is_setgid = (info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0;
    if (is_setgid && info.st_gid != caller.group) return true;
    // struct vfs_cap_data, little-endian: flags, then the permitted and inheritable sets, two words each.
    std::array<std::uint32_t, 6> words{};
    const ssize_t length = getxattr(path.c_str(), "security.capability", words.data(), sizeof words);
    return caller.user != 0 && length > 0 && ((words[0] & 1U) != 0 || words[1] != 0 || words[3] != 0);
}

FoundObstacle secure_execution(const std::string& path) {
    return {Obstacle::secure_execution, path,
            "has more rights than you (setuid, setgid or capabilities), so its loader ignores LD_PRELOAD",
            "Start it as the user that it becomes, or start aoti-dbg behind it (sudo aoti-dbg run ...)."};
}

/// Whether a file without an interpreter is itself a loader: `ld.so program` preloads. Loaders have a
/// DT_SONAME entry, static position-independent programs do not.
bool is_loader(const File& file, const std::vector<ElfW(Phdr)>& segments) {
    for (const ElfW(Phdr) & segment : segments) {
        if (segment.p_type != PT_DYNAMIC) continue;
        const std::size_t size = std::min<std::uint64_t>(segment.p_filesz, kLargestTable);
        for (const ElfW(Dyn) & entry :
             values_at<ElfW(Dyn)>(file, segment.p_offset, size / sizeof(ElfW(Dyn)))) {
            if (entry.d_tag == DT_NULL) break;
            if (entry.d_tag == DT_SONAME) return true;
        }
    }
    return false;
}

/// Recognizes musl, Android's bionic and uClibc. A link may hide the name, as Alpine's does for glibc
/// programs.
bool is_other_loader(const std::string& interpreter) {
    std::error_code failed;
    const std::string behind_links = fs::canonical(interpreter, failed).string();
    for (const std::string& name : {name_of(interpreter), name_of(behind_links)}) {
        if (name.find("musl") != std::string::npos || name.find("uClibc") != std::string::npos ||
            name.rfind("linker", 0) == 0) {
            return true;
        }
    }
    return false;
}

FoundObstacle find_in_program(const std::string& path, const File& file) {
    constexpr std::size_t kCommon = offsetof(ElfW(Ehdr), e_version);  // same layout for all classes
    ElfW(Ehdr) header{};
    const std::string start = file.bytes(0, sizeof header);
    if (start.size() < kCommon) return {};
    std::memcpy(&header, start.data(), start.size());
    const unsigned char bits = header.e_ident[EI_CLASS];
    if (bits != ELFCLASS32 && bits != ELFCLASS64) return {};
    const bool same_bits = bits == __ehdr_start.e_ident[EI_CLASS];
    if (!same_bits || header.e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA] ||
        header.e_machine != __ehdr_start.e_machine) {
        const char* const target =
            same_bits ? "another machine" : (bits == ELFCLASS32 ? "32 bits" : "64 bits");
        return {Obstacle::other_machine, path, std::string("is built for ") + target + ", unlike the library",
                "Use a build for this machine."};
    }
    const bool is_program = header.e_type == ET_EXEC || header.e_type == ET_DYN;
    if (!is_program || header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 ||
        header.e_phnum * sizeof(ElfW(Phdr)) > kLargestTable) {
        return {};
    }
    const auto segments = values_at<ElfW(Phdr)>(file, header.e_phoff, header.e_phnum);
    if (segments.empty()) return {};
    const auto segment = std::find_if(segments.begin(), segments.end(),
                                      [](const ElfW(Phdr) & each) { return each.p_type == PT_INTERP; });
    if (segment == segments.end()) {
        if (header.e_type == ET_DYN && is_loader(file, segments)) return {};
        return {Obstacle::statically_linked, path, "is statically linked, so LD_PRELOAD has no effect",
                "Use a dynamically linked build."};
    }
    if (segment->p_filesz < 2 || segment->p_filesz > PATH_MAX) return {};
    std::string interpreter = file.bytes(segment->p_offset, segment->p_filesz);
    interpreter.resize(std::min(interpreter.find('\0'), interpreter.size()));
    if (!is_other_loader(interpreter)) return {};
    return {Obstacle::other_loader, path,
            "uses the loader " + interpreter + ", which is not glibc's and would reject the library",
            "Use a build for glibc."};
}

/// Returns what `env` executes when a `#!` line passes it `argument`. Empty if that is unclear.
std::string behind_env(std::string_view argument) {
    bool split = false;
    for (const std::string_view flag : {"-S", "-vS", "--split-string="}) {
        if (split || argument.substr(0, flag.size()) != flag) continue;
        argument.remove_prefix(flag.size());
        split = true;
    }
    if (!split) {
        const bool plain = argument.empty() || argument[0] == '-' || argument.find('=') != argument.npos;
        return plain ? std::string() : std::string(argument);
    }
    std::istringstream words{std::string(argument)};
    for (std::string word; words >> word;) {
        if (word[0] == '-' || word.find_first_of("\\\"'$#") != std::string::npos) return {};
        if (word.find('=') == std::string::npos) return word;
        if (word.rfind("PATH=", 0) == 0) return {};
    }
    return {};
}

/// Returns what the kernel, or `env`, executes for a script that begins with `start`. Returns nothing if the
/// kernel would reject the line.
std::optional<std::string> behind_script(std::string_view start) {
    constexpr std::string_view kBlanks = " \t";
    const std::size_t end = start.find_first_of(std::string_view("\n\0", 2));
    std::string_view line = start.substr(2, end == start.npos ? start.npos : end - 2);
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    const std::size_t name_end = line.find_first_of(kBlanks);
    const bool cut = end == start.npos && start.size() == kScriptLine;
    if (line.empty() || (cut && name_end == line.npos)) return std::nullopt;
    std::string interpreter(line.substr(0, name_end));
    line.remove_prefix(std::min(name_end, line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (name_of(interpreter) == "env") {
        std::string program = behind_env(line);
        if (!program.empty()) return program;
    }
    // The kernel does not search PATH.
    return interpreter.find('/') == std::string::npos ? "./" + interpreter : interpreter;
}

}  // namespace

Caller Caller::current() {
    Caller caller{getuid(), getgid(), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1, {}};
    if (const char* const path = std::getenv("PATH")) {
        caller.path = path;
    } else {
        caller.path.resize(confstr(_CS_PATH, nullptr, 0));
        caller.path.resize(confstr(_CS_PATH, caller.path.data(), caller.path.size()) - 1);
    }
    return caller;
}

std::string executed_file(const std::string& program, const Caller& caller) {
    if (program.empty() || program.find('/') != std::string::npos) return program;
    std::string_view rest = caller.path;
    while (true) {
        const std::size_t colon = rest.find(':');
        const std::string folder(rest.substr(0, colon));
        std::string file = (folder.empty() ? "." : folder) + "/" + program;
        struct stat info {};
        if (stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(file.c_str(), X_OK) == 0) {
            return file;
        }
        if (colon == std::string_view::npos) return {};
        rest.remove_prefix(colon + 1);
    }
}

FoundObstacle find_obstacle(const std::string& program, const Caller& caller) {
    std::string next = program;
    for (int length = 0; length < kLongestChain; ++length) {
        const std::string path = executed_file(next, caller);
        struct stat info {};
        if (path.empty() || stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
        const File file(path);
        const std::string start = file.bytes(0, kScriptLine);
        if (start.rfind("#!", 0) == 0) {
            std::optional<std::string> behind = behind_script(start);
            if (!behind) return {};
            next = std::move(*behind);
        } else if (start.rfind(ELFMAG, 0) == 0 || !file.is_open()) {
            // An executable file may be unreadable, but its rights are still visible.
            FoundObstacle finding = find_in_program(path, file);
            if (finding.obstacle == Obstacle::none && starts_securely(path, info, caller)) {
                finding = secure_execution(path);
            }
            return finding;
        } else {
            next = "/bin/sh";  // execvp() runs it as a script
        }
    }
    return {};
}

}  // namespace aoti_dbg::cli
