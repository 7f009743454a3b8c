// Makes a model's Run return a failure after it succeeded (AOTI_DBG_ON_FINDING=raise). The caller handles it
// like any AOTInductor failure, and PyTorch throws. A Python wrapper raises an exception. Nothing else in the
// program changes. PyTorch 2.13 and later asks the model for an error text and throws it. This code appends
// the finding that explains it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shim/runtime/slots.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {

struct OpenCall;
struct ThreadState;

/// Marks the given run, or the calling thread's innermost run, to return a failure. Call it before end_call()
/// returns for that run. Returns false without a run, or for a run without a stub, as in a linked model.
bool fail_run(ThreadState& state);
bool fail_run(ThreadState& state, const OpenCall& run);

/// Call this before end_call(). Returns the mark of the run whose frame is `address`, or 0 if there is none.
std::uint64_t mark_of_run(const ThreadState& state, std::uintptr_t address);

/// Call this after end_call(). If the run is marked, replaces its result and deletes its outputs, because the
/// caller will not take them.
void fail_marked_run(ThreadState& state, std::uint64_t mark, const Slot& slot, StubFrame& frame);

/// Does the same for a run of a Python wrapper, which fails with an exception: if the run is marked, returns
/// the text of it.
std::optional<std::string> take_failure(ThreadState& state, std::uint64_t mark);

/// Keeps what explains the failure of the thread's run, until its next run.
void explain_failure(ThreadState& state, std::string sentence);
void forget_explanation(ThreadState& state);

/// AOTInductorGetLastError() returned: adds the explanation to the text.
void explain_last_error(ThreadState& state, const StubFrame& frame);

}  // namespace aoti_dbg
