#include "triage/gather/folder_entries.hpp"

#include <system_error>

namespace aoti_dbg {

namespace fs = std::filesystem;

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
    std::vector<fs::directory_entry> entries;
    // A range-based loop would throw if reading the folder fails midway.
    std::error_code failed;
    fs::directory_iterator at(folder, failed);
    for (; !failed && at != fs::directory_iterator(); at.increment(failed))
        entries.push_back(*at);
    return entries;
}

}  // namespace aoti_dbg
