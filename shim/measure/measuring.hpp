// Level 2 in a launching thread: which call site a call is, and its tensors as text into the log, before the
// call and after it. Costs nothing where no option asks for statistics.
#pragma once

#include <cstdint>
#include <memory>

#include "model/wrapper_info.hpp"
#include "shim/bind/stub_frame.hpp"
#include "shim/measure/shim_api.hpp"

namespace aoti_dbg {

class MeasuredModel;
struct Slot;
struct OpenCall;
struct ThreadState;

/// Of one thread: the pointers that its model asked for lately, and where its runs are.
struct MeasuringThread;
struct DropMeasuringThread {
    void operator()(MeasuringThread* state) const;
};
using MeasuringThreadPtr = std::unique_ptr<MeasuringThread, DropMeasuringThread>;

/// A call as it came through a stub. The frame stands until the call is over.
struct Passage {
    const Slot* slot = nullptr;
    const StubFrame* frame = nullptr;
};

enum class When : std::uint8_t { before, after };

/// The model asked for the address of a tensor, which the next kernel may get. `state` is null where this
/// thread has recorded nothing yet.
void note_pointer(ThreadState* state, MeasuredModel& model, TensorHandle handle);

/// The site of a model's own call in a run, kNone if none is known. To be asked for every such call, selected
/// or not, since sites are told by order.
std::uint32_t match_site(ThreadState& state, const MeasuredModel& model, std::uint16_t number,
                         std::uint32_t run, const Passage& passage);

/// Whether the arguments of such a call can be told; of any other only the name is printed.
bool has_arguments(const Passage& passage);

/// Prints the call's scalars and tensors. `result` is what the call returned.
void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  std::int32_t result);

/// Prints what a run is given. `passage` is that of AOTInductorModelContainerRun.
void measure_inputs(ThreadState& state, const MeasuredModel& model, const Passage& passage);

}  // namespace aoti_dbg
