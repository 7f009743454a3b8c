// Says why a file or directory could not be used and what the reader can do about it. All messages about
// files take their reason and their remedy from here, so that the advice always fits the error. Must not
// change errno.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace aoti_dbg {

/// The text of an errno value in lower case: "permission denied".
std::string errno_text(int error);

/// "cannot create /x/y: permission denied". Keeps `error` for remedy_for().
Status file_failure(std::string_view what, const std::string& path, int error);

enum class PlaceKind { directory, file };

/// A sentence that says how to get past `error`: "Set AOTI_DBG_OUT to a writable directory.". `option` names
/// what chooses the place, such as AOTI_DBG_LOG or --junit. `kind` says what it takes.
std::string remedy_for(int error, std::string_view option, PlaceKind kind);
inline std::string remedy_for(const Status& failed, std::string_view option, PlaceKind kind) {
    return remedy_for(failed.error_number(), option, kind);
}

}  // namespace aoti_dbg
