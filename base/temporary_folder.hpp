// Recognizes a folder of temporary files, which many programs share. Must not create anything.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <string>

namespace aoti_dbg {

/// Returns true if anyone may create files in the folder, or if it is the environment's folder for temporary
/// files. An empty name is the working directory.
inline bool is_temporary_folder(const std::string& folder) {
    struct stat own {};
    if (stat(folder.empty() ? "." : folder.c_str(), &own) != 0) return false;
    if ((own.st_mode & S_ISVTX) != 0) return true;
    // As std::filesystem::temp_directory_path() searches.
    for (const char* const variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
        const char* const named = std::getenv(variable);
        struct stat other {};
        if (named == nullptr || stat(named, &other) != 0) continue;
        if (own.st_dev == other.st_dev && own.st_ino == other.st_ino) return true;
    }
    return false;
}

}  // namespace aoti_dbg
