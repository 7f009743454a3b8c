#include "shim/library/process_end.hpp"

#include <unistd.h>

#include <cstdint>

#include "base/message.hpp"
#include "shim/calls/nothing_seen.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unwound_calls.hpp"
#include "shim/faults/dump_request.hpp"
#include "shim/faults/fatal_signals.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/faults/reporter.hpp"
#include "shim/library/kept_captures.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

void end_process() {
    if (g_wiped_page == nullptr) return;
    Session* session = g_wiped_page->session.load(std::memory_order_acquire);
    if (session == nullptr) {
        if (observing() && getpid() == loading_process() && begin_process_end())
            report_nothing_seen(options(), {folder_at_load(), load_time()});
        return;
    }
    if (session->pid() != getpid()) return;
    if (!begin_process_end()) return;
    yield_to_fatal_signal();
    await_fault_dump();
    remove_dump_pipe();
    // The process does not end inside these calls, so an exception unwound them.
    if (ThreadState* const state = thread_state_if_any(); state != nullptr)
        close_unwound_records(*state, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
    g_observing.store(false, std::memory_order_release);
    release_captures_without_fault(*session);
    const bool is_bad = session->end();
    const int status = noted_exit_status();
    if (is_bad || status > 0) {
        if (!has_reporter()) return;
        if (!start_reporter({0, status}))
            return message(Severity::warn,
                           "cannot start a process to make the report. Run `aoti-dbg report %s` to make it.",
                           session->folder().c_str());
    }
    session->leave_private_folder();
}

}  // namespace aoti_dbg
