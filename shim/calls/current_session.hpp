// The session of this process. A fork's child has one of its own.
#pragma once

namespace aoti_dbg {

class Session;

/// The session of this process, made at the first call that is recorded; nullptr when it ended or cannot be.
Session* current_session();

}  // namespace aoti_dbg
