// Requests the driver's core dump of the device although nothing has faulted. It shows which kernel does not
// end and where, and a fault that the driver was not notified of. The dump makes the context fail, as a fault
// does. The driver reads requests from a pipe that it creates with its first context, and then dumps all
// contexts. The library must not hold a descriptor of the pipe; it looks up the driver's own when needed.
#pragma once

#include <string>

namespace aoti_dbg {

/// Call this when the driver will create its pipe at `path`. It removes a stale pipe of an earlier process
/// with the same number. `be_last` makes the driver open no pipe for later contexts, and returns false if the
/// driver refused.
void expect_dump_pipe(const std::string& path, bool (*be_last)());
/// Call this if the driver will not create a pipe.
void forget_dump_pipe();

/// Covers the time from before a context is requested until the driver has answered. The driver opens the
/// pipe again for each further context. It fails to create the context if the pipe has no name. The name
/// therefore stays while a context is being created, which may have begun before `be_last`.
class ContextInTheMaking {
  public:
    ContextInTheMaking();
    ~ContextInTheMaking();
    ContextInTheMaking(const ContextInTheMaking&) = delete;
    ContextInTheMaking& operator=(const ContextInTheMaking&) = delete;
};

/// Removes the pipe's name once the driver has the pipe open, so that no other process finds it in the output
/// folder. Contexts that have the pipe open serve all later ones. Once they are destroyed, no context
/// answers. It is cheap, for one thread that calls it repeatedly.
void take_dump_pipe();

/// Call this from the same thread. Returns false if the driver has no pipe or has already been asked.
bool can_ask_for_dump();
/// Returns false if no reader receives the request.
bool ask_for_dump();
/// True if this process has requested a dump. Any thread may call it.
bool has_asked_for_dump();

/// Removes the pipe at process exit, because a short process may exit before take_dump_pipe() runs. It must
/// not allocate.
void remove_dump_pipe();

}  // namespace aoti_dbg
