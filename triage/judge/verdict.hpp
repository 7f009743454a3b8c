// The conclusion from the evidence of an abnormal exit or a finding. Judging is pure: the same evidence gives
// the same verdict, whatever the addresses, processes and times. It must not read anything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/cuda_error.hpp"
#include "triage/judge/evidence.hpp"
#include "triage/judge/fault_words.hpp"

namespace aoti_dbg {

/// What is at fault, as far as it is known.
struct Culprit {
    std::optional<CrashCall> call;       // none if there are several candidates
    std::string kernel;                  // or op; empty: unknown
    std::uint32_t line = 0;              // of the kernel's own source; 0: unknown
    std::vector<std::size_t> arguments;  // the suspects among Evidence::arguments
    bool is_argument_certain = false;

    [[nodiscard]] bool is_suspect(std::size_t argument) const {
        return std::find(arguments.begin(), arguments.end(), argument) != arguments.end();
    }
};

struct Verdict {
    CrashClass kind = CrashClass::unknown;
    std::uint32_t code = 0;  // codes.hpp: of the finding that the verdict is about, or else of the class
    std::string headline;    // a sentence without full stop
    Culprit culprit;
    PlacedAccess access;             // of a device fault
    std::vector<NearMemory> memory;  // Evidence::allocations, with the time of a free only if it is certain
    std::string fingerprint;
    std::string coarse_fingerprint;   // the fingerprint without the line
    std::vector<std::string> repeat;  // shell commands
    std::vector<std::string> advice;
    // The process ended by a fatal signal, by a failed call or inside a call, or it has findings.
    bool is_worth_reporting = false;
};

Verdict judge(const Evidence& evidence);

/// What the pages of triage/render show.
struct Report {
    Evidence evidence;
    Verdict verdict;
};

/// Returns sixteen hexadecimal digits over the words. No word may contain a place or a time.
std::string fingerprint_of(const std::vector<std::string_view>& words);

/// Returns an Inductor kernel name such as "triton_poi_fused_index_3" without its number, which only counts
/// the kernels before it.
std::string_view without_ordinal(std::string_view kernel);

}  // namespace aoti_dbg
