// See log_padding.hpp.
#include "cli/run/log_padding.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/descriptor.hpp"
#include "config/pattern.hpp"
#include "triage/gather/folder_entries.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

/// Whether any visible process has the file mapped. Processes of other users are not visible.
bool is_mapped(const struct stat& file) {
    for (const fs::directory_entry& process : entries_of("/proc")) {
        const std::string name = process.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream maps(process.path() / "maps");
        std::string line;
        while (std::getline(maps, line)) {
            std::uintmax_t inode = 0;
            // The device number is not compared, because some file systems report one here that differs from
            // stat's.
            if (std::sscanf(line.c_str(), "%*s %*s %*s %*s %" SCNuMAX, &inode) == 1 && inode == file.st_ino) {
                return true;
            }
        }
    }
    return false;
}

/// Whether the kernel knows of other processes with the file open or mapped, even hidden ones. Returns false
/// on file systems that do not support leases.
bool is_open_elsewhere(int descriptor) {
    if (fcntl(descriptor, F_SETLEASE, F_WRLCK) != 0) return errno == EAGAIN;
    fcntl(descriptor, F_SETLEASE, F_UNLCK);
    return false;
}

/// Returns the length to keep: up to and including the first of the trailing newlines.
off_t kept_length(int descriptor, off_t length) {
    std::array<char, 65536> piece{};
    off_t end = length;
    while (end > 0) {
        const auto size = static_cast<std::size_t>(std::min<off_t>(end, piece.size()));
        if (pread(descriptor, piece.data(), size, end - static_cast<off_t>(size)) !=
            static_cast<ssize_t>(size)) {
            return length;
        }
        for (std::size_t i = size; i > 0; --i) {
            if (piece[i - 1] != '\n') return std::min(length, end - static_cast<off_t>(size - i) + 1);
        }
        end -= static_cast<off_t>(size);
    }
    return 0;
}

/// Returns whether there is such a file.
bool trim_file(const std::string& path, const timespec& started) {
    const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (file.number() < 0) return errno != ENOENT && errno != ENOTDIR;
    struct stat info {};
    if (fstat(file.number(), &info) == 0 && S_ISREG(info.st_mode)) {
        const timespec& changed = info.st_mtim;
        const bool written =
            std::pair(changed.tv_sec, changed.tv_nsec) >= std::pair(started.tv_sec, started.tv_nsec);
        const off_t kept = written ? kept_length(file.number(), info.st_size) : info.st_size;
        // A failed truncation leaves blank lines, which do no harm.
        if (kept < info.st_size && !is_open_elsewhere(file.number()) && !is_mapped(info)) {
            (void)!ftruncate(file.number(), kept);
        }
    }
    return true;
}

}  // namespace

std::string log_path(const std::string& pattern, pid_t pid) {
    std::string with_pid;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char letter = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        if (letter == 't') return {};
        if (letter == 'p') {
            with_pid += std::to_string(pid);
        } else {
            with_pid += pattern[i];
            if (letter == '%') with_pid += letter;
        }
        if (letter == 'p' || letter == '%') ++i;
    }
    return expand_pattern(with_pid, std::getenv);
}

void trim_log(const std::string& pattern, pid_t pid, const timespec& started) {
    const std::string path = log_path(pattern, pid);
    // The library does not overwrite files: if names.log exists, it writes names.log.2, and so on.
    bool there = !path.empty() && trim_file(path, started);
    for (int number = 2; there; ++number)
        there = trim_file(path + "." + std::to_string(number), started);
}

}  // namespace aoti_dbg::cli
