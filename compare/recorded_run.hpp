// One run of a model, as its recording has it: the calls in order, and what is known of each of their
// tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "serializer/measured_event.hpp"

namespace aoti_dbg::compare {

/// What a recording knows of an argument on one side of a call. The facts outlive the run.
struct RecordedTensor {
    const ArgumentFacts* facts = nullptr;
    const TensorFacts* tensor = nullptr;  // null: a scalar or a string, whose value is `scalar`
    std::string scalar;
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;
    EventSide side = EventSide::before;
    std::uint32_t position = 0;  // among the arguments of its own call
    std::uint64_t address = 0;
    bool is_measured = false;
    bool is_unwritten = false;  // uninitialized memory before a call that only writes it
    bool has_garbage = false;   // shares memory with an argument that is unwritten
    TensorStatistics statistics;
    std::vector<std::byte> values;  // all elements if there are few, else empty
};

/// Whether its contents before the call may matter to the call.
inline bool is_input(const RecordedTensor& tensor) {
    const Role role = tensor.facts->role;
    return !tensor.is_unwritten && role != Role::writes && role != Role::makes;
}

/// Whether the call may have written it.
inline bool is_output(const RecordedTensor& tensor) {
    return tensor.tensor != nullptr && tensor.facts->role != Role::reads;
}

struct RecordedCall {
    const SiteFacts* site = nullptr;
    std::uint32_t call = kNoCallNumber;
    std::uint32_t nesting = 0;
    std::int32_t result = 0;
    bool has_before = false;  // its arguments are recorded
    bool has_after = false;
    std::vector<RecordedTensor> before;
    std::vector<RecordedTensor> after;
};

struct RecordedRun {
    std::uint32_t run = ~0U;
    std::uint32_t model = ~0U;
    std::string model_name;
    bool has_inputs = false;
    bool has_outputs = false;  // it returned
    std::vector<RecordedTensor> inputs;
    std::vector<RecordedCall> calls;
    std::vector<RecordedTensor> outputs;
};

}  // namespace aoti_dbg::compare
