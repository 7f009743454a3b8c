// File descriptors of a library thread that the program cannot see. The program cannot close them or get
// their numbers, and its limit on open files does not count them. Forked children and executed programs do
// not inherit them. Such a thread must print nothing, because its table lacks the program's standard error.
#pragma once

namespace aoti_dbg {

/// Gives the calling thread, and the threads that it starts later, a descriptor table without the program's
/// descriptors. Returns false if the kernel refuses, as some containers before 5.9 do.
///
/// The thread then shares the program's table. The program may close descriptors that it does not know and
/// reuse their numbers.
bool take_own_descriptors();

}  // namespace aoti_dbg
