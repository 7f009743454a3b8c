// Walks through an output folder and the folders below it. Folders that cannot be read are skipped.
#pragma once

#include <filesystem>
#include <system_error>

namespace aoti_dbg::cli {

/// Calls `visit(entry)` for each entry of the folder, at most a few folders deep and in no order, until it
/// returns false. Does not enter links to folders.
template <typename Visit>
void walk_folder(const std::filesystem::path& folder, Visit visit) {
    using Walk = std::filesystem::recursive_directory_iterator;
    constexpr int kDeepest = 4;
    std::error_code failed;
    for (Walk entry(folder, std::filesystem::directory_options::skip_permission_denied, failed);
         !failed && entry != Walk(); entry.increment(failed)) {
        if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
        if (!visit(*entry)) return;
    }
}

}  // namespace aoti_dbg::cli
