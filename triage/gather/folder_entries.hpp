// What lies in a folder, for those who look for something in it and mind nothing else.
#pragma once

#include <filesystem>
#include <vector>

namespace aoti_dbg {

/// In no order; as many as could be read, none where it is no folder.
std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);

}  // namespace aoti_dbg
