// Connects captured launches with saved tensors and findings, and decides at exit whether they stay
// (--capture-on fault).
#pragma once

namespace aoti_dbg {

class Session;

/// Removes captured launches with the tensors of their run, and prints the replay command with each finding.
/// Call it after all parts are added.
void connect_capture(Session& session);

/// Removes all runs that were kept for a fault if there was none. Call it before the session ends.
void release_captures_without_fault(Session& session);

}  // namespace aoti_dbg
