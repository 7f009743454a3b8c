// A finding as a struct, as a block of text for people, and as a line of events.jsonl. It owns its text,
// because its model may be gone. shim/check/findings detects findings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// The kernel name of findings about a run's inputs.
inline constexpr std::string_view kModelInputs = "aoti_model_inputs";

/// The check of findings about races.
inline constexpr std::string_view kOrderCheck = "order";

/// A tensor of a finding, or a scalar by value.
struct FindingTensor {
    std::string label;
    std::string original_fqn;
    std::string parameter;
    Role role = Role::unknown;
    std::string scalar;  // not empty: it is a scalar, and the members below mean nothing
    std::string dtype;
    std::string device;
    bool sizes_known = false;
    std::vector<std::int64_t> sizes;
    std::string unmeasured;   // the reason; empty if `statistics` is valid
    bool is_earlier = false;  // measured by call `measured_at`, not by this call
    std::uint32_t measured_at = kNoCallNumber;
    TensorStatistics statistics;
};

struct Finding {
    enum class Kind : std::uint8_t {
        nan,
        inf,
        input_nan,   // a model input has NaN
        weight_nan,  // a weight has NaN
        argument,    // wrong input or result of a run or call: see `check` and the members after it
    };
    Kind kind = Kind::nan;
    std::uint64_t number = 0;  // in the process, from 1
    std::string kernel;
    std::string symbol;
    std::uint32_t site = ~0U;  // as in SiteFacts
    std::uint32_t line = 0;
    std::string source;
    std::vector<std::string> source_nodes;
    std::vector<std::string> original_aten;
    std::vector<std::string> python_stack;
    std::uint64_t sequence = 0;  // this and the members below as in MeasuredCall
    std::uint64_t time_ns = 0;
    std::uint64_t thread = 0;
    std::uint64_t stream = 0;
    std::uint32_t model = ~0U;
    std::string model_name;  // of a function that torch.compile compiled
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;
    FindingTensor tensor;               // the first affected tensor
    std::uint64_t elements = 0;         // number of its elements that are NaN or Inf
    std::vector<std::uint64_t> first;   // logical indices of affected elements, as far as known, in order
    std::string pattern;                // their location, as far as known: "row [2, :]"
    std::vector<FindingTensor> also;    // other affected outputs of the call
    std::vector<FindingTensor> inputs;  // what the call read
    std::vector<std::string> notes;     // reasons for doubt, as whole clauses
    // Where the kernel comes from, as in CrashCall. A recording has only `python_lines`, if the package has
    // them.
    std::vector<std::string> python_lines;
    std::vector<std::string> pre_grad_nodes;
    std::vector<std::string> post_grad_nodes;
    std::string origin;
    std::string replay;       // the command that runs its launch alone; not in events.jsonl
    std::string suppression;  // the AOTI_DBG_SUPPRESS entry that suppresses it
    std::string check;        // of an argument: what was inspected, "dtype", "size"
    std::string expected;
    std::string found;
    std::string advice;           // what to try
    std::string other;            // of a race: the other access to the same memory
    bool is_of_the_past = false;  // its run had ended, or may have
};

/// "model input arg0_1: expected dtype float32, got float64"
std::string argument_title(const Finding& finding);

/// Returns "3 NaN; the rest min -1, max 2, mean 0.5" for a tensor, or why it was not measured.
std::string measured_text(const FindingTensor& tensor);

/// Returns "[2, 0, 7]", or "3" if the sizes do not fit.
std::string index_text(std::uint64_t index, const std::vector<std::int64_t>& sizes);

/// Returns "aoti-dbg AD1102: NaN in buf5, first made by triton_poi_fused_log_1 (model 0, run 3, call 7)".
std::string finding_sentence(const Finding& finding);

/// Appends a block of whole lines.
void append_finding_text(const Finding& finding, std::string& out);

/// Appends one line.
void append_finding_json(const Finding& finding, std::string& out);

/// Accepts any bytes. Fails if the line is not a finding or its version is unknown.
Result<Finding> read_finding(std::string_view line);

}  // namespace aoti_dbg
