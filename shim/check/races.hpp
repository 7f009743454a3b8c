// AOTI_DBG_CHECK=races in the program's threads: what the hooks of the driver and the calls of models tell
// of work on a device goes to StreamOrder, and what that finds is told. To be called only where ordering()
// says so, before the real function if nothing else is said. Throws nothing and keeps errno, but for
// note_call().
//
// Streams go by the handles of the driver: nullptr is the legacy stream, CU_STREAM_PER_THREAD the calling
// thread's own.
#pragma once

#include <cstdint>

#include "shim/calls/driver_waits.hpp"
#include "shim/calls/passage.hpp"
#include "shim/check/stream_order.hpp"

namespace aoti_dbg {
class MeasuredModel;
struct OpenCall;
struct ThreadState;
}  // namespace aoti_dbg

namespace aoti_dbg::races {

/// Any work, of which nothing else is known.
void note_work(void* stream);
/// Work of the program's that touches this memory. `function` is an exported name of the driver's, for ever.
void note_touches(const char* function, void* stream, StreamOrder::Touch touch,
                  StreamOrder::Touch other = {});
/// A graph, of which nobody sees what it waits for, which events it records and what it tells the host.
void note_graph(void* stream);
/// A call of a model's, which a run is around.
void note_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when);

void note_recorded(void* event, void* stream);
/// It is recorded, and nobody sees when.
void note_unseen_event(void* event);
void note_waits(void* stream, void* event);
/// It waits for something that nobody sees.
void note_unseen_wait(void* stream);
/// The host has waited: behind the real function.
void note_waited(Awaited awaited);
/// Whether a copy to this address is over when the driver's function comes back, whatever its name says: to
/// memory of the host that the driver does not know.
bool is_waited_for(std::uint64_t to);
/// The host learns how far it is, and nobody sees when.
void note_callback(void* stream);

/// A stream is about to go.
void note_destroyed(void* stream);
/// A context is about to go, and all that is in it.
void note_context_ends();
/// Memory is about to go, in the order of a stream; at once; a part of it.
void note_freed(const char* function, std::uint64_t address, void* stream);
void note_gone(std::uint64_t address);
void note_unmapped(std::uint64_t address, std::uint64_t bytes);

}  // namespace aoti_dbg::races
