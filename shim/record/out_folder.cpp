#include "shim/record/out_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/file_failure.hpp"
#include "base/private_folder.hpp"
#include "config/options_table.hpp"

namespace aoti_dbg {
namespace {

Status make_folders(const std::string& path) {
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const std::string part = path.substr(0, slash);
        if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
            // A parent may exist although we cannot create it (EACCES, EROFS). Only the last part decides.
            const int why = errno;
            struct stat info {};
            if (stat(part.c_str(), &info) != 0) return file_failure("cannot create directory", part, why);
        }
        if (slash == std::string::npos) break;
    }
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
        return file_failure("cannot use", path, ENOTDIR);
    }
    if (access(path.c_str(), W_OK | X_OK) != 0) {
        return file_failure("cannot write to directory", path, errno);
    }
    return {};
}

/// Replaces the link `latest` next to the folder. Keeps anything there that is not a link.
void point_latest_at(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string link = path.substr(0, slash + 1) + "latest";
    const std::string fresh = link + "." + std::to_string(getpid());
    struct stat info {};
    if (lstat(link.c_str(), &info) == 0 && !S_ISLNK(info.st_mode)) return;
    if (symlink(path.substr(slash + 1).c_str(), fresh.c_str()) != 0) return;
    if (rename(fresh.c_str(), link.c_str()) != 0) unlink(fresh.c_str());
}

/// Returns true if the folder has the default name, in any parent. `pattern` must not end with a slash.
bool is_default_pattern(std::string_view pattern) {
    for (const OptionInfo& option : option_table()) {
        if (option.field != "out") continue;
        const std::string standard = "/" + std::string(option.standard);
        return pattern.size() >= standard.size() &&
               pattern.substr(pattern.size() - standard.size()) == standard;
    }
    return false;
}

}  // namespace

Result<std::string> make_out_folder(const Options& options, const Origin& start, const std::string& own_name,
                                    std::size_t room) {
    std::string pattern = options.out;
    while (pattern.size() > 1 && pattern.back() == '/')
        pattern.pop_back();
    std::string path = expand_pattern(pattern, ::getenv, start);
    const std::string of_start = path;
    if (!own_name.empty()) path += "/" + own_name;
    if (room != 0) {
        // Check this before creating anything.
        if (Status there_is = has_room(path, room); !there_is.ok()) return there_is;
    }
    if (Status made = make_folders(path); !made.ok()) return made;
    if (is_default_pattern(pattern)) point_latest_at(of_start);
    return path;
}

}  // namespace aoti_dbg
