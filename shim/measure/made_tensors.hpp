// Notes where the tensors of a model on CUDA lie, in the map of tensors: its inputs, what its wrapper makes
// and lets go, what its ops return. Done with AOTI_DBG_TRIAGE where tensors are looked at (AOTI_DBG_CHECK);
// costs some getters of libtorch a tensor, and asks the driver nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/wrapper_info.hpp"
#include "serializer/flight_ring_format.hpp"
#include "shim/bind/stub_frame.hpp"
#include "shim/measure/shim_api.hpp"

namespace aoti_dbg {

class MeasuredModel;
struct OpenCall;
struct ThreadState;

/// What is kept of a thread.
struct MadeTensors {
    struct Lying {
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;
        bool operator==(const Lying&) const = default;
    };
    // Made and not let go, and their numbers in the map. Few at a time: found by looking through them.
    std::vector<TensorHandle> handles;
    std::vector<std::uint64_t> numbers;
    // Where the run is, for names: the site that was passed last, and how many were made since.
    std::uint32_t run = ring::kNoRun;
    std::uint32_t site = kNone;
    std::uint32_t made_since = 0;
    std::map<std::pair<std::uint16_t, std::size_t>, Lying> inputs;  // as noted last, by model and position

    void pass(std::uint32_t passed_run, std::uint32_t passed_site) {
        if (passed_site == kNone) return;
        run = passed_run;
        site = passed_site;
        made_since = 0;
    }
};

/// A run begins, and is given `count` tensors.
void note_inputs(ThreadState& state, const MeasuredModel& model, const OpenCall& run,
                 const TensorHandle* handles, std::size_t count);
/// aoti_torch_empty_strided has come back.
void note_made_tensor(ThreadState& state, const MeasuredModel& model, const StubFrame& frame);
/// An op has come back that returns tensors.
void note_returned_tensors(ThreadState& state, const MeasuredModel& model, const OpenCall& call);
/// aoti_torch_delete_tensor_object is about to be called.
void note_let_go(ThreadState& state, TensorHandle handle);
/// A run has come back: what is still there is the caller's.
void note_handed_out(ThreadState& state, const OpenCall& run);

}  // namespace aoti_dbg
