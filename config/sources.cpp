// Reads the environment of this process and the files that it names. Only this file of the folder touches the
// process. It leaks no descriptor and preserves errno.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/errno_keeper.hpp"
#include "base/file_bytes.hpp"
#include "base/file_failure.hpp"
#include "config/options.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kLargestFile = 1U << 20U;  // rules for every kernel of a large model need a tenth

Status cannot_use(const std::string& path, const char* why) {
    return Status::error("cannot use " + path + ": " + why);
}

Result<std::string> read_small_file(const std::string& path) {
    const ErrnoKeeper keeper;
    const Descriptor file = open_to_read(path);
    if (file.number() < 0) return file_failure("cannot open", path, errno);
    struct stat info {};
    if (fstat(file.number(), &info) != 0) return file_failure("cannot read", path, errno);
    if (!S_ISREG(info.st_mode)) return cannot_use(path, "not a regular file");
    if (info.st_size > static_cast<off_t>(kLargestFile)) return cannot_use(path, "larger than 1 MiB");
    std::string text;
    std::array<char, 16384> block{};
    // Read to the end instead of to the size. Files in /proc have size 0, and others grow.
    while (true) {
        const ssize_t got = read(file.number(), block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_failure("cannot read", path, errno);
        if (got == 0) return text;
        text.append(block.data(), static_cast<std::size_t>(got));
        if (text.size() > kLargestFile) return cannot_use(path, "larger than 1 MiB");
    }
}

/// Sorted, because the order in the environment is arbitrary.
std::vector<std::string> our_variables() {
    constexpr std::string_view kPrefix = "AOTI_DBG_";
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        if (text.substr(0, kPrefix.size()) == kPrefix) names.emplace_back(text.substr(0, text.find('=')));
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

}  // namespace

Sources process_sources() {
    return {[](const char* name) -> const char* { return getenv(name); }, our_variables(), read_small_file};
}

}  // namespace aoti_dbg
