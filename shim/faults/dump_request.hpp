// Asks the driver for its record of what is on the device now, though nothing has faulted: of a kernel that
// does not end it says which one that is and where, and of a fault that the driver was not told of what it
// tells of any other. By the record the context fails, as by that of a fault.
//
// The driver waits for it at a pipe, which it makes with its first context, and makes the record, of all
// contexts, when somebody writes to it. Nobody else is to meet that pipe in the output folder, so it loses
// its name as soon as the driver has it open. No descriptor is held here: when it is needed the driver's own
// is looked for.
//
// With each further context the driver opens the pipe once more, and where it has no name by then that
// context is not made. So the driver is told before that later ones need none, and while one is being made,
// which may have begun earlier, the name stays. Those that have the pipe open answer for all; when they are
// gone nobody does.
#pragma once

#include <string>

namespace aoti_dbg {

/// The driver is told to make its pipe there, in the place of one that a process of this number has left.
/// `be_last` tells it to open none for later contexts; false: it did not listen.
void expect_dump_pipe(const std::string& path, bool (*be_last)());
/// It does not.
void forget_dump_pipe();

/// From before the driver is asked for a context until it has answered.
class ContextInTheMaking {
  public:
    ContextInTheMaking();
    ~ContextInTheMaking();
    ContextInTheMaking(const ContextInTheMaking&) = delete;
    ContextInTheMaking& operator=(const ContextInTheMaking&) = delete;
};

/// Looks whether it is there by now, and takes its name away. Cheap, for one thread that looks again and
/// again.
void take_dump_pipe();

/// By the same thread: not where the driver has no pipe, or has been asked before.
bool can_ask_for_dump();
/// False where nobody reads what is asked.
bool ask_for_dump();
/// By any thread: whether this process has been so far.
bool has_asked_for_dump();

/// At the end of the process, which may have been too short for anybody to look. Allocates nothing.
void remove_dump_pipe();

}  // namespace aoti_dbg
