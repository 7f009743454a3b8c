// One side of a call while its arguments are gone through: each tensor is measured, at once on the host or at
// a point of a stream, or found again; then all of it is reported together.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "shim/calls/thread_state.hpp"
#include "shim/measure/event_queue.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/tensors/arguments.hpp"

namespace aoti_dbg {

/// Of a thread, kept from side to side.
struct SideState {
    SeenArguments arguments;    // of the side at hand; kept for its memory
    bool is_capturing = false;  // as asked before the last call; none begins or ends one
};

class MeasuredSide {
  public:
    MeasuredSide(SideState& state, Measurer& measurer, const ShimApi& api, const OpenCall& call,
                 const TensorRequest& wanted);

    /// From here on tensors on a device are measured at this point. False where they cannot be, because the
    /// stream is being captured, which is said once.
    bool at(StreamPoint& point, bool ask_anew = true);

    void add_scalar(const CallArgument& argument);
    void add_tensor(const PlannedArgument& facts, const SeenTensor& tensor);

    void note_written(const SeenTensor& tensor);
    void note_unknown_write();

    /// What waits at the point goes out if `launch`. Nobody is kept from the stream while this waits for
    /// room.
    void report(const MeasuredCall& call, bool launch);

  private:
    void measure_there(const PlannedArgument& facts, const SeenTensor& tensor, SeenArgument& seen);
    std::optional<Measurement> measure_or_wait(const SeenTensor& tensor);

    SideState& state_;
    Measurer& measurer_;
    const ShimApi& api_;
    const OpenCall& call_;
    const TensorRequest& tensors_;
    Wanted wanted_;
    bool reuse_;
    StreamPoint* point_ = nullptr;
    std::unique_lock<std::mutex> lock_;  // of the point
};

}  // namespace aoti_dbg
