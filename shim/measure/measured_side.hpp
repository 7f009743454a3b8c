// One side of a call, before or after it. Each tensor is measured on the host, measured at a point of a
// stream, or taken from an earlier measurement. Then all arguments are reported together.
#pragma once

#include <cstdint>
#include <mutex>

#include "shim/calls/thread_state.hpp"
#include "shim/measure/event_queue.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/tensors/arguments.hpp"

namespace aoti_dbg {

/// The state of one thread, reused from side to side.
struct SideState {
    SeenCall call;                    // what describe() says of the current side
    SeenArguments arguments;          // of the current side; kept for their memory
    SeenArguments unreported;         // of the side before the call `unreported_of`, without texts
    std::uint64_t unreported_of = 0;  // mark of a call
    KeptConstants::FoundByThread constants;
    bool is_capturing = false;  // as read before the last call, since a call does not start or end a capture
};

class MeasuredSide {
  public:
    MeasuredSide(SideState& state, Measurer& measurer, const ShimApi& api, const OpenCall& call,
                 const TensorRequest& requested);

    /// Measures device tensors at this point from here on. Returns false, with a message once, if the stream
    /// is being captured.
    bool at(StreamPoint& point, bool ask_anew = true);

    void add_scalar(const CallArgument& argument) {
        state_.arguments.add_scalar(*argument.facts, argument.value);
    }
    void add_tensor(const PlannedArgument& facts, const SeenTensor& tensor) {
        SeenArgument& seen = add(facts, tensor);
        seen.measurement.call = call_.number;
        if (tensor.facts->is_on_device && tensor.address != 0 && reuse_ && point_ != nullptr &&
            point_->find(facts, tensor, requested_, call_.run, seen.measurement)) [[likely]]
            seen.measured = Measured::earlier;
        else
            measure(facts, tensor, seen);
    }
    /// Adds the tensor only if its contents are known already.
    void add_if_known(const PlannedArgument& facts, const SeenTensor& tensor);
    /// Does the same for a constant that was measured since the model's constants have this version.
    bool add_if_kept(const PlannedArgument& facts, const ConstantsOwner& owner);
    /// Keeps the result of the constant that was added last.
    void keep_constant(const PlannedArgument& facts, const SeenTensor& tensor, const ConstantsOwner& owner);
    /// Does the same for memory that was measured under the argument's name, without looking up the tensor.
    bool add_if_named(const PlannedArgument& facts);

    void note_written(const SeenTensor& tensor);
    void note_unknown_write();

    /// What happens at the point when its side is complete.
    enum class Next : std::uint8_t {
        same_point,  // nothing before the next side
        passing,     // work that does not change what waits
        any_work,    // work that may change it, so it launches
    };
    /// Unlocks the point before it waits for room in the queue.
    void report(Next next);
    /// Keeps the side before the call for report_both().
    void keep(Next next);
    void report_both();

  private:
    SeenArgument& add(const PlannedArgument& facts, const SeenTensor& tensor) {
        SeenArgument& seen = state_.arguments.list.emplace_back();
        seen.facts = &facts;
        seen.tensor = tensor.facts;
        seen.address = tensor.address;
        seen.requested = requested_;
        return seen;
    }
    void measure(const PlannedArgument& facts, const SeenTensor& tensor, SeenArgument& seen);
    void add_earlier(const PlannedArgument& facts, const SeenTensor& tensor, const Measurement& measurement);
    void leave(Next next);
    void pass_on();
    void measure_there(const PlannedArgument& facts, const SeenTensor& tensor, SeenArgument& seen);
    bool wait_and_measure(const SeenTensor& tensor, Measurement& measured);

    SideState& state_;
    Measurer& measurer_;
    const ShimApi& api_;
    const OpenCall& call_;
    const TensorRequest& tensors_;
    Requested requested_;
    bool reuse_;
    StreamPoint* point_ = nullptr;
    std::unique_lock<std::mutex> lock_;  // of the point
};

}  // namespace aoti_dbg
