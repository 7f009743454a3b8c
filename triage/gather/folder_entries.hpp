// Lists a folder for callers that search it and ignore errors.
#pragma once

#include <filesystem>
#include <vector>

namespace aoti_dbg {

/// Returns the readable entries, unordered; none if it is not a folder.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);

}  // namespace aoti_dbg
