// The parts of a verdict's sentence: how the process ended, where, and which launches may be at fault. It has
// no side effects. The fingerprint must not depend on these words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// "segmentation fault (SIGSEGV)", "the program exited with status 3", "process 17 ended abnormally".
std::string ending_words(const CrashEnd& end);

/// "; the process then ended with SIGABRT", "; the program then exited with status 1".
std::string then_words(const CrashEnd& end);

/// " inside X", " while 3 threads were inside calls: ..." or " outside any call".
std::string place_words(const Evidence& evidence);

/// "NaN in buf4, first made by X".
std::string finding_words(const Finding& finding);

/// "gather.cu"; "its source" for Triton's files, whose names are hashes.
std::string source_words(const DeviceFault& fault);

/// "kernel, inside op (run 0, call 3)": the op's place says more than that of its kernel.
std::string call_text_inside(const CrashCall& call);

/// Returns the freed memory that contains the address, or nullptr if there is none or it is unknown.
const NearMemory* used_after_free(const std::vector<NearMemory>& memory);

/// ": use of freed memory (...)", or the clause that follows `access`.
std::string freed_words(const NearMemory& freed, std::string_view access);

/// Which kernel faulted, judged by the first call that returned the error.
std::string place_of_fault(const CrashCall& call, const Evidence& evidence);

/// "; 7 launches were not known to have finished: K (run 7, call 41), ..."
std::string unfinished_words(const Evidence& evidence);

/// " in K (run 7, call 41), according to completion markers"
std::string words_by_markers(const Evidence& evidence);

/// "; likely in K (run 7, call 41), at line 35 of its source: of 9 launches not known to have finished, only
/// this one has an assertion"
std::string words_by_assertion(const Evidence& evidence);

/// The failed call, or the last call of a run that failed between its calls.
std::string place_of_shortage(const CrashCall& call, const Evidence& evidence);

/// The probable end of a process that disappeared inside a call; empty if the end is known.
std::string_view probable_end(const Evidence& evidence);

}  // namespace aoti_dbg
