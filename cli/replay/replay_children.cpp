#include "cli/replay/replay_children.hpp"

#include <algorithm>
#include <cerrno>

#include "base/file_failure.hpp"
#include "cli/replay/child.hpp"

namespace aoti_dbg::cli {

Result<int> replay_in_children(const ReplayRequest& request, const std::vector<LaunchFile>& files,
                               const ReplayHandlers& handlers) {
    const auto shared = shared_with_children<ReplayProgress>();
    if (shared == nullptr) return Status::error("cannot map memory: " + errno_text(errno));
    ReplayProgress& progress = *shared;
    for (; progress.launch < files.size(); ++progress.launch) {
        Result<int> code = run_in_child([&] {
            if (handlers.at_start) handlers.at_start();
            return replay_here(request, files, handlers.report, progress);
        });
        if (!code.ok()) return code;
        const bool is_at_fault = code.value() == kReplayFault && progress.launch < files.size();
        if (!is_at_fault) return std::max(code.value(), progress.worst);
        if (!handlers.at_fault) continue;
        code = run_in_child([&] { return handlers.at_fault(files[progress.launch], progress.pass); });
        if (!code.ok()) return code;
    }
    return progress.worst;
}

}  // namespace aoti_dbg::cli
