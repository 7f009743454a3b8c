// The session of this process. A forked child has its own.
#pragma once

namespace aoti_dbg {

class Session;

/// Returns the session, created at the first recorded call. Returns null if the session ended, cannot be
/// created, or this process takes no part.
Session* current_session();

}  // namespace aoti_dbg
