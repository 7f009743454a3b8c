// Compares two recordings run by run, in memory that does not grow with their number of runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/divergence.hpp"
#include "compare/element_difference.hpp"
#include "compare/run_reader.hpp"

namespace aoti_dbg::compare {

/// One place where a difference begins. `run` and `call` are those of the first recording.
struct Beginning {
    std::uint32_t run = ~0U;
    std::uint32_t other_run = ~0U;
    std::uint32_t call = kNoCallNumber;
    std::uint32_t other_call = kNoCallNumber;
    std::string model_name;
    SiteFacts site;
    Origin origin = Origin::none;
    Agreement inputs = Agreement::unknown;
    std::uint32_t last_equal = kNoCallNumber;
    Grade grade = Grade::none;
    EventSide side = EventSide::before;  // of the tensor
    bool has_tensor = false;
    RecordedTensor first;  // with has_tensor; its facts are those of the readers
    RecordedTensor second;
    std::optional<ElementDifference> elements;  // if all of them are known
    std::uint64_t equal_before = 0;             // calls of the run before it, equal bit by bit
    std::uint64_t seen_before = 0;  // calls of the run before it without a difference, but without proof
};

/// An input of a run that differs.
struct DifferentInput {
    std::uint32_t run = ~0U;
    RecordedTensor first;
    RecordedTensor second;
    Grade grade = Grade::none;
    std::optional<ElementDifference> elements;
};

enum class Verdict : std::uint8_t { equal, not_seen, different };

struct Comparison {
    std::uint64_t runs = 0;   // pairs
    std::uint64_t calls = 0;  // pairs
    std::uint64_t equal = 0;
    std::uint64_t not_seen = 0;  // no difference in the statistics
    std::uint64_t follow = 0;
    std::uint64_t absorb = 0;
    std::uint64_t unknown = 0;
    std::uint64_t diverge = 0;
    std::uint64_t runs_with_other_inputs = 0;
    std::uint64_t runs_with_other_outputs = 0;
    std::uint64_t runs_with_unproven_ends = 0;  // inputs or outputs without proof that they are equal
    std::uint64_t runs_without_outputs = 0;     // in one recording or both
    std::uint64_t only_first_runs = 0, only_second_runs = 0;
    std::uint64_t only_first_calls = 0, only_second_calls = 0;
    std::vector<Beginning> beginnings;    // the first ones, in order
    std::vector<DifferentInput> inputs;   // the first ones
    std::vector<std::string> only_first;  // names of calls without a partner, the first ones
    std::vector<std::string> only_second;

    [[nodiscard]] bool is_different() const {
        return diverge + follow + absorb + runs_with_other_inputs + runs_with_other_outputs +
                   only_first_runs + only_second_runs + only_first_calls + only_second_calls !=
               0;
    }
    [[nodiscard]] Verdict verdict() const {
        if (is_different()) return Verdict::different;
        const bool is_proven = not_seen + unknown + runs_with_unproven_ends == 0;
        return is_proven ? Verdict::equal : Verdict::not_seen;
    }
};

/// Keeps at most this many entries of each list.
inline constexpr std::size_t kMostListed = 100;

/// Adds a pair of runs.
void add_runs(const RecordedRun& first, const RecordedRun& second, Comparison& to);

/// Pairs the runs of both recordings by model and number, and those without such a partner by model and
/// order. The readers must outlive the result.
Comparison compare_recordings(RunReader& first, RunReader& second);

}  // namespace aoti_dbg::compare
