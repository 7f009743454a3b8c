#include "cli/replay/replay_children.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/file_failure.hpp"
#include "cli/replay/child.hpp"

namespace aoti_dbg::cli {
namespace {

/// Memory that child processes share with this one.
class SharedProgress {
  public:
    SharedProgress()
        : memory_(mmap(nullptr, sizeof(ReplayProgress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)) {
        if (memory_ != MAP_FAILED) progress_ = new (memory_) ReplayProgress;
    }
    SharedProgress(const SharedProgress&) = delete;
    SharedProgress& operator=(const SharedProgress&) = delete;
    ~SharedProgress() {
        if (progress_ != nullptr) munmap(memory_, sizeof(ReplayProgress));
    }
    /// Returns null without memory.
    [[nodiscard]] ReplayProgress* get() const { return progress_; }

  private:
    void* memory_;
    ReplayProgress* progress_ = nullptr;
};

}  // namespace

Result<int> replay_in_children(const ReplayRequest& request, const std::vector<LaunchFile>& files,
                               const ReplayHandlers& handlers) {
    const SharedProgress shared;
    if (shared.get() == nullptr) return Status::error("cannot map memory: " + errno_text(errno));
    ReplayProgress& progress = *shared.get();
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
