// The models that Python wrappers are. The caller must hold the interpreter's lock, unless a function says
// otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/flight_ring_format.hpp"
#include "shim/python/python_api.hpp"
#include "shim/runtime/shim_api.hpp"

namespace aoti_dbg {
struct Name;
}

namespace aoti_dbg::python {

/// A line that called a model, with the name of such a run.
struct KnownCaller {
    Reference code;  // keeps its address
    std::int64_t line = 0;
    const Name* run = nullptr;
};

/// One model: its kernels and runs, and its description until that is kept as evidence.
struct PythonModel {
    std::vector<const Name*> names;
    std::vector<ring::CallKind> kinds;
    std::string title;
    bool is_backward = false;
    const Name* run = nullptr;
    std::vector<KnownCaller> callers;  // guarded by the interpreter's lock
    std::string description;
    TorchLibrary torch;
    std::atomic<bool> is_kept{false};
};

/// Adds the model that the door describes (model/compiled_wrapper.hpp). Returns kNoModel if it cannot.
std::uint16_t add_python_model(std::string_view description);

/// Returns null for an unknown number. Needs no lock.
PythonModel* python_model(std::uint16_t number);

/// Returns the name of a run, with the user's line that called it if a report or a finding may need it.
const Name* name_of_next_run(PythonModel& model);

/// Keeps the wrapper and its description beside the recording, at the first recorded run of the model. Only
/// then is there a session. Needs no lock.
void keep_evidence_once(std::uint16_t number);

}  // namespace aoti_dbg::python
