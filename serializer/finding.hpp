// A finding as a struct, as a block of text for the person, and as a line of events.jsonl. Plain: what it
// is about may be gone. Finding them is shim/check/findings' business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// The kernel of findings about what a run is given.
inline constexpr std::string_view kModelInputs = "aoti_model_inputs";

/// The check of findings about races.
inline constexpr std::string_view kOrderCheck = "order";

/// A tensor of a finding, or a scalar, by value.
struct FindingTensor {
    std::string label;
    std::string original_fqn;
    std::string parameter;
    Role role = Role::unknown;
    std::string scalar;  // not empty: it is one, and what follows means nothing
    std::string dtype;
    std::string device;
    bool sizes_known = false;
    std::vector<std::int64_t> sizes;
    std::string unmeasured;   // why; empty where `statistics` holds
    bool is_earlier = false;  // measured by call `measured_at`, not by this one
    std::uint32_t measured_at = kNoCallNumber;
    TensorStatistics statistics;
};

struct Finding {
    enum class Kind : std::uint8_t {
        nan,
        inf,
        input_nan,   // a model input has NaN
        weight_nan,  // a weight has NaN
        argument,  // what a run or a call was given, or what it returned, is wrong: `check` and what follows
                   // it
    };
    Kind kind = Kind::nan;
    std::uint64_t number = 0;  // in the process, from 1
    std::string kernel;
    std::string symbol;
    std::uint32_t site = ~0U;  // as SiteFacts
    std::uint32_t line = 0;
    std::vector<std::string> source_nodes;
    std::vector<std::string> original_aten;
    std::uint64_t sequence = 0;  // from here as MeasuredCall
    std::uint64_t time_ns = 0;
    std::uint64_t thread = 0;
    std::uint64_t stream = 0;
    std::uint32_t model = ~0U;
    std::uint32_t run = ~0U;
    std::uint32_t call = kNoCallNumber;
    FindingTensor tensor;               // the first that has it
    std::uint64_t elements = 0;         // of it, that are NaN or Inf
    std::vector<std::uint64_t> first;   // their logical indices, as far as they are known, in order
    std::string pattern;                // where they are, as far as it is known: "row [2, :]"
    std::vector<FindingTensor> also;    // other outputs of the call that have it
    std::vector<FindingTensor> inputs;  // what the call read
    std::vector<std::string> notes;     // what makes it less certain: whole clauses
    std::string suppression;            // the entry of AOTI_DBG_SUPPRESS for it
    std::string check;                  // of an argument: what was looked at, "dtype", "size"
    std::string expected;
    std::string found;
    std::string advice;           // what to try
    std::string other;            // of a race: who touches the same memory
    bool is_of_the_past = false;  // its run had ended, or may have
};

/// "model input arg0_1: expected dtype float32, got float64"
std::string argument_title(const Finding& finding);

/// "3 NaN; the rest min -1, max 2, mean 0.5", of a tensor; why it was not, where it was not measured.
std::string measured_text(const FindingTensor& tensor);

/// "[2, 0, 7]", or "3" where sizes do not fit.
std::string index_text(std::uint64_t index, const std::vector<std::int64_t>& sizes);

/// A block of whole lines.
void append_finding_text(const Finding& finding, std::string& out);

/// One line.
void append_finding_json(const Finding& finding, std::string& out);

/// Takes any bytes. A line that is no finding, or of a version that is not known, is an error.
Result<Finding> read_finding(std::string_view line);

}  // namespace aoti_dbg
