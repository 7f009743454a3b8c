// Level 2 events as structs: one MeasuredCall for each side of each call. All outputs (PyTorch's text,
// compact lines, events.jsonl) are rendered from these, and the events.jsonl reader returns them. Facts hold
// what stays the same from call to call. Each has a number, so a renderer builds its text once. Structs only;
// none of them may own tensor elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/role.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

/// PyTorch prints the values of tensors with at most this many elements.
inline constexpr std::uint64_t kMostPrintedValues = 64;

inline constexpr std::uint32_t kNoCallNumber = ~std::uint32_t{0};

/// Returns a number for facts, unique within the process.
std::uint64_t next_facts_number();

/// A kernel or op at one place in the model.
struct SiteFacts {
    std::uint64_t number = next_facts_number();
    std::string kernel;        // as PyTorch prints it
    std::string symbol;        // the function called, if different: aoti_torch_cuda_addmm_out
    std::string kind;          // "triton", "op", "cpp_kernel", "proxy_op", "dispatcher_op", "launch"
    std::uint32_t site = ~0U;  // number in the wrapper source; ~0: unknown
    std::uint32_t line = 0;    // of the wrapper source
    std::string source;        // its path in the line table; empty if the source itself gave the line
    std::vector<std::string> source_nodes;
    std::vector<std::string> original_aten;
    std::vector<std::string> python_stack;  // the user's, line by line; empty: the model does not have it
    std::vector<std::string> python_lines;  // of the user's source, for findings; not recorded here
};

struct ArgumentFacts {
    std::uint64_t number = next_facts_number();
    std::string label;         // buf4, arg5_1, l1_bias, arg0
    std::string original_fqn;  // of a weight: layers.0.weight
    std::string parameter;     // in_ptr0; empty if unknown
    std::uint32_t position = 0;
    Role role = Role::unknown;
};

/// Properties of a tensor other than its address and elements.
struct TensorFacts {
    std::uint64_t number = next_facts_number();
    std::string dtype;                      // as torch writes it, without "torch."; "code 77" for an unknown
                                            // one
    DType measured_dtype = DType::float32;  // valid if it can be measured
    std::string device;                     // "cpu", "cuda:0"
    bool is_strided = true;
    bool sizes_known = true;  // false: only an address is known
    bool is_contiguous = true;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;  // in elements; empty if the layout has none
    std::int64_t storage_offset = 0;    // in elements
    std::int64_t storage_bytes = -1;    // -1: unknown
    MathBits bits;                      // applied to values and statistics, but not to the storage
    std::string unmeasured;             // why it cannot be measured; empty if it can
};

enum class Measured : std::uint8_t {
    now,      // on this side of this call
    earlier,  // by `measured_at`, and no call since has declared a write to it
    not_yet,  // the GPU had not reached it when the program ended or failed
    no,       // see `why_not`
};

struct MeasuredArgument {
    const ArgumentFacts* facts = nullptr;
    const TensorFacts* tensor = nullptr;  // null: a scalar or a string, whose value is `scalar`
    std::string_view scalar;
    std::uint64_t address = 0;
    Measured measured = Measured::no;
    const char* why_not = "";                   // a reason besides TensorFacts::unmeasured: "stream is
                                                // capturing"
    std::uint32_t measured_at = kNoCallNumber;  // call number in this run; kNoCallNumber: the inputs
    TensorStatistics statistics;                // valid if measured now or earlier
    std::span<const std::byte> values;          // all elements in logical order if there are few enough, else
                                                // empty
};

enum class EventSide : std::uint8_t {
    before,   // before_launch
    after,    // after_launch
    inputs,   // aoti_model_inputs: of a run; has no site
    outputs,  // aoti_model_outputs
};

/// One side of one call, or the inputs or outputs of a run.
struct MeasuredCall {
    EventSide side = EventSide::before;
    bool name_only = false;  // print only the name, without arguments
    const SiteFacts* site = nullptr;
    std::uint64_t sequence = 0;  // of the call in the process
    std::uint64_t time_ns = 0;   // since the epoch
    std::uint64_t thread = 0;
    std::uint64_t stream = 0;
    std::uint32_t model = ~0U;
    std::string_view run_name;  // as the flight ring has it; stays valid
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;  // in the run
    std::uint32_t nesting = 0;           // enclosing calls
    std::int32_t result = 0;             // after: the return value
    bool is_serialized = false;          // a completion marker kept it from overlapping its predecessor
    std::span<const MeasuredArgument> arguments;
};

}  // namespace aoti_dbg
