// What level 2 says, as structs: one MeasuredCall for each side of each call. Every output (PyTorch's text,
// compact lines, events.jsonl) is rendered from these, and the reader of events.jsonl gives them back.
//
// What stays the same from call to call is apart from what changes: "facts" have a number of their own, so
// that a renderer makes their text once. Structs only; nothing in here owns a tensor's elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

/// PyTorch prints the values of tensors that have no more elements than this.
inline constexpr std::uint64_t kMostPrintedValues = 64;

inline constexpr std::uint32_t kNoCallNumber = ~std::uint32_t{0};

/// A number for facts, of each process its own, never given twice.
std::uint64_t next_facts_number();

/// Which kernel or op, at which place of the model.
struct SiteFacts {
    std::uint64_t number = next_facts_number();
    std::string kernel;        // as PyTorch prints it
    std::string symbol;        // what is called, where that differs: aoti_torch_cuda_addmm_out
    std::string kind;          // "triton", "op", "cpp_kernel", "proxy_op", "dispatcher_op", "launch"
    std::uint32_t site = ~0U;  // number in the wrapper source, ~0 where it is not known
    std::uint32_t line = 0;    // of the wrapper source
    std::vector<std::string> source_nodes;
    std::vector<std::string> original_aten;
};

/// What the call does with an argument.
enum class Role : std::uint8_t {
    unknown,
    reads,
    writes,   // what was there before is not read
    updates,  // read and written
    makes,    // there is nothing before the call
};

struct ArgumentFacts {
    std::uint64_t number = next_facts_number();
    std::string label;         // buf4, arg5_1, l1_bias, arg0
    std::string original_fqn;  // of a weight: layers.0.weight
    std::string parameter;     // in_ptr0; empty where nothing says it
    std::uint32_t position = 0;
    Role role = Role::unknown;
};

/// What a tensor is, but for its address and its elements.
struct TensorFacts {
    std::uint64_t number = next_facts_number();
    std::string dtype;                      // as torch writes it, without "torch."; "code 77" for one unknown
    DType measured_dtype = DType::float32;  // where it can be measured
    std::string device;                     // "cpu", "cuda:0"
    bool is_strided = true;
    bool sizes_known = true;  // false: only an address is known
    bool is_contiguous = true;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;  // in elements; empty where the layout has none
    std::int64_t storage_offset = 0;    // in elements
    std::int64_t storage_bytes = -1;    // -1: not known
    MathBits bits;                      // applied to values and statistics, but not to the storage
    std::string unmeasured;             // why it cannot be measured; empty where it can
};

enum class Measured : std::uint8_t {
    now,      // at this side of this call
    earlier,  // by `measured_at`, and nothing since has declared to write it
    not_yet,  // the GPU had not got there when the program ended or failed
    no,       // `why_not`
};

struct MeasuredArgument {
    const ArgumentFacts* facts = nullptr;
    const TensorFacts* tensor = nullptr;  // null: a scalar or a string, whose value is `scalar`
    std::string_view scalar;
    std::uint64_t address = 0;
    Measured measured = Measured::no;
    const char* why_not = "";                   // besides TensorFacts::unmeasured: "stream is capturing"
    std::uint32_t measured_at = kNoCallNumber;  // number of the call in this run; kNoCallNumber: the inputs
    TensorStatistics statistics;                // where measured now or earlier
    std::span<const std::byte> values;          // all elements in logical order, if so few; else empty
};

enum class EventSide : std::uint8_t {
    before,   // before_launch
    after,    // after_launch
    inputs,   // aoti_model_inputs: of a run; there is no site
    outputs,  // aoti_model_outputs
};

/// One side of one call, or what a run is given and gives.
struct MeasuredCall {
    EventSide side = EventSide::before;
    bool name_only = false;  // its arguments are not told: only a name is to be printed
    const SiteFacts* site = nullptr;
    std::uint64_t sequence = 0;  // of the call, in the process
    std::uint64_t time_ns = 0;   // since the epoch
    std::uint64_t thread = 0;
    std::uint64_t stream = 0;
    std::uint32_t model = ~0U;
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;  // in the run
    std::uint32_t nesting = 0;           // calls that it lies in
    std::int32_t result = 0;             // after: what it returned
    std::span<const MeasuredArgument> arguments;
};

}  // namespace aoti_dbg
