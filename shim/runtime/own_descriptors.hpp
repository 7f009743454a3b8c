// File descriptors of a thread of ours that the program has nothing to do with: it cannot close them or get
// their numbers, a fork's child and a program that is executed do not inherit them, and the program's own
// limit on open files is not used up. Such a thread cannot speak: standard error is the program's, too.
#pragma once

namespace aoti_dbg {

/// Gives the calling thread, and those that it makes afterwards, a table of descriptors of their own, with
/// nothing of the program's in it. False where the kernel does not (before 5.9 some containers): then the
/// table is the program's, which may close what it does not know, and give its number to something else.
bool take_own_descriptors();

}  // namespace aoti_dbg
