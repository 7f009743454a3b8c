// Says why a file or directory cannot be used and what the reader can do about it. All messages about files
// take their reason and remedy from here, so the advice always fits the error. Must not change errno.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace aoti_dbg {

/// Returns the text of an errno value in lower case: "permission denied".
std::string errno_text(int error);

/// Returns "cannot create /x/y: permission denied". The status keeps `error` for remedy_for().
Status file_failure(std::string_view what, const std::string& path, int error);

enum class PlaceKind { directory, file };

/// Returns a sentence that says how to get past `error`: "Set AOTI_DBG_OUT to a writable directory.".
/// `option` is the setting that selects the path, such as AOTI_DBG_LOG or --junit. `kind` says whether that
/// setting takes a file or a directory.
std::string remedy_for(int error, std::string_view option, PlaceKind kind);
inline std::string remedy_for(const Status& failed, std::string_view option, PlaceKind kind) {
    return remedy_for(failed.error_number(), option, kind);
}

}  // namespace aoti_dbg
