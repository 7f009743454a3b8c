// AOTI_DBG_CHECK=races in the program's threads. Hooks and model calls pass all device work to StreamOrder,
// and its conflicts are reported. Callers must test ordering() first, and call before the real function
// unless noted. Except for note_call(), nothing throws and errno is preserved.
// Streams are driver handles: nullptr is the legacy stream, CU_STREAM_PER_THREAD is the calling thread's own.
#pragma once

#include <cstdint>

#include "shim/calls/driver_event.hpp"
#include "shim/calls/passage.hpp"

namespace aoti_dbg {
class MeasuredModel;
struct OpenCall;
struct ThreadState;
}  // namespace aoti_dbg

namespace aoti_dbg::races {

/// Records work about which nothing else is known.
void note_work(void* stream);
/// Records a copy or a fill of the program. `function` is an exported name of the driver and must live
/// forever.
void note_copied(const char* function, void* stream, const CopyRanges& ranges);
/// Records a graph launch. The library does not see what a graph waits for, which events it records or what
/// it signals to the host.
void note_graph(void* stream);
/// Records a call of a model inside a run.
void note_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when);

void note_recorded(void* event, void* stream);
/// Records that an event is recorded at an unknown time.
void note_unseen_event(void* event);
void note_waits(void* stream, void* event);
/// Records that the stream waits for something unknown.
void note_unseen_wait(void* stream);
/// Records that the host has waited. Call this after the real function.
void note_waited(const Awaited& awaited);
/// True if a copy to this address is complete when the driver's function returns, even if its name says
/// otherwise. That holds for host memory that the driver does not know.
bool is_waited_for(std::uint64_t to);
/// Records that the host learns the progress of the stream at an unknown time.
void note_callback(void* stream);

/// Call this before a stream is destroyed.
void note_destroyed(void* stream);
/// Call this before a context is destroyed with everything in it.
void note_context_ends();
/// Call these before memory is freed: in stream order, immediately, or only a part of it.
void note_freed(const char* function, std::uint64_t address, void* stream);
void note_freed_at_once(std::uint64_t address);
void note_unmapped(std::uint64_t address, std::uint64_t bytes);

}  // namespace aoti_dbg::races
