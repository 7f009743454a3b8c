// What a launching thread keeps while it measures, and the steps that level 2 and the checks of values share.
#pragma once

#include <cstdint>

#include "serializer/measured_event.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/measured_side.hpp"
#include "shim/measure/measurer.hpp"

namespace aoti_dbg {

struct CallTensors;
struct SitePlan;

/// The part of a thread that measures.
struct MeasuringThread {
    StreamPoint* point = nullptr;  // of the last measured call
    std::uint64_t at_point = 0;    // mark of the call that began there, if no other call moved on since
    Measurer::FoundPoint found_point;
    std::uint64_t passing = 0;  // mark of the call that what waits at the point lets pass
    SideState side;
};

inline MeasuringThread& measuring_part(ThreadState& state) {
    return state.parts.get<MeasuringThread>();
}

Measurer& measurer_of(const ThreadState& state);

/// Describes a side of a call in SideState::call, without its arguments. Call it before you add them: copying
/// a struct right after writing its fields stalls the processor.
MeasuredCall& describe(ThreadState& state, const OpenCall& call, EventSide side);

/// Switches to the point of another stream. Both points launch what waits and forget their measurements,
/// because the streams are not ordered.
void move_to(MeasuringThread& own, StreamPoint* point);

/// Switches to the point of the call's stream and returns it. That is the launch's own stream, or else that
/// of the run. After the call, it is the point before it, unless other calls moved on.
StreamPoint* move_to_point_of(ThreadState& state, const OpenCall& call, When when = When::before);

/// Forgets what was measured of memory that the call wrote, before anything of its side after it is measured.
void note_written(MeasuredSide& side, const CallTensors& own);

/// Returns what the call does at the point before it. `own` has its arguments.
MeasuredSide::Next next_at(const SitePlan* plan, const CallTensors& own, const StreamPoint& point);

}  // namespace aoti_dbg
