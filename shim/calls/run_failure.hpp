// Makes a model's Run return a failure though it has succeeded: AOTI_DBG_ON_FINDING=raise. Its caller then
// does what it does at any failure of AOTInductor's: PyTorch throws. Nothing else of the program is changed.
#pragma once

#include <cstdint>

#include "shim/runtime/slots.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {

struct OpenCall;
struct ThreadState;

/// The innermost run that the calling thread is inside of will return a failure, or the one given, until
/// end_call() has returned for it. False where there is none, or it did not come through a stub (of a model
/// that is linked to the program), so that it cannot.
bool fail_run(ThreadState& state);
bool fail_run(ThreadState& state, const OpenCall& run);

/// Asked before end_call(): the run whose frame is `address`, 0 if there is none.
std::uint64_t mark_of_run(const ThreadState& state, std::uintptr_t address);

/// Asked after end_call(): replaces the result where that run is to fail. Its outputs, which nobody will take
/// now, are deleted.
void fail_marked_run(ThreadState& state, std::uint64_t mark, const Slot& slot, StubFrame& frame);

}  // namespace aoti_dbg
