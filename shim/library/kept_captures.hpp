// Connects captured launches with saved tensors and findings, and decides at exit whether they stay
// (--capture-on fault).
#pragma once

namespace aoti_dbg {

class Session;

/// Lets captured launches go with the tensors of their run, and findings name the command that replays their
/// launch. Call it after the parts were added.
void connect_capture(Session& session);

/// Call this before the session ends. Without a fault, nothing that is kept for one stays.
void release_captures_without_fault(Session& session);

}  // namespace aoti_dbg
