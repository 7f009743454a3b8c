#include "shim/library/kept_captures.hpp"

#include <unistd.h>

#include "config/selection.hpp"
#include "shim/calls/session.hpp"
#include "shim/capture/capture_part.hpp"
#include "shim/faults/fatal_signals.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/findings/measured_output.hpp"
#include "shim/runtime/ended_context.hpp"
#include "shim/runtime/fatal_work.hpp"
#include "shim/runtime/process.hpp"
#include "shim/save/saving_part.hpp"

namespace aoti_dbg {
namespace {

/// A failed call may be the only sign of a fault on another context, so it counts, too.
bool ends_by_fault(Session& session) {
    return context_has_ended() || has_fault_begun() || noted_exit_status() > 0 || session.has_failed_call();
}

/// What the last launches read must be on disk before a fatal signal ends the process.
void save_the_rest() {
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (session == nullptr || session->pid() != getpid()) return;
    if (auto* const saving = session->part<SavingPart>(); saving != nullptr) saving->flush();
}

}  // namespace

void connect_capture(Session& session) {
    auto* const saving = session.part<SavingPart>();
    auto* const capture = session.part<CapturePart>();
    auto* const output = session.part<MeasuredOutput>();
    if (capture != nullptr && output != nullptr) output->name_replays(*capture);
    if (saving == nullptr || capture == nullptr || !may_remove_runs(options())) return;
    saving->remove_with_runs(*capture);
    capture->ask(*saving);
    if (options().capture_on != CaptureOn::fault) return;
    g_work_before_fatal_end.store(save_the_rest, std::memory_order_release);
    watch_fatal_signals();
}

void release_captures_without_fault(Session& session) {
    if (options().capture_on != CaptureOn::fault || ends_by_fault(session)) return;
    if (auto* const saving = session.part<SavingPart>(); saving != nullptr) saving->remove_all_at_end();
}

}  // namespace aoti_dbg
