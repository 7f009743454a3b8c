// Compares two recordings run by run, in memory that does not grow with their number of runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
    std::uint32_t other_model = ~0U;  // its number in the second recording
    SiteFacts site;
    std::string module;  // of the reference, if there is one
    Origin origin = Origin::none;
    Agreement inputs = Agreement::unknown;
    std::uint32_t last_equal = kNoCallNumber;
    Grade grade = Grade::none;
    EventSide side = EventSide::before;  // of the tensor
    bool has_tensor = false;
    RecordedTensor first;  // with has_tensor; its facts are those of the readers
    RecordedTensor second;
    std::shared_ptr<const ElementDifference> elements;  // if all of them are known
    Spread spread;                                      // with RuleKind::derived
    Spread allowed;
    // Calls of the run before it:
    std::uint64_t equal_before = 0;  // equal bit by bit
    std::uint64_t close_before = 0;  // within the tolerance
    std::uint64_t seen_before = 0;   // without a difference, but without proof
};

/// An input of a run that differs.
struct DifferentInput {
    std::uint32_t run = ~0U;
    RecordedTensor first;
    RecordedTensor second;
    Grade grade = Grade::none;
    std::shared_ptr<const ElementDifference> elements;
};

enum class Verdict : std::uint8_t { equal, close, not_seen, different };

struct Comparison {
    std::uint64_t runs = 0;   // pairs
    std::uint64_t calls = 0;  // pairs
    std::uint64_t equal = 0;
    std::uint64_t close = 0;       // within the tolerance
    std::uint64_t not_seen = 0;    // no difference in the statistics, or none beyond the tolerance
    std::uint64_t other_bits = 0;  // some bits differ, within the tolerance or not
    std::uint64_t follow = 0;
    std::uint64_t absorb = 0;
    std::uint64_t unknown = 0;
    std::uint64_t diverge = 0;
    std::uint64_t runs_with_other_inputs = 0;
    std::uint64_t runs_with_other_outputs = 0;
    std::uint64_t runs_with_close_ends = 0;     // inputs or outputs differ within the tolerance
    std::uint64_t runs_with_unproven_ends = 0;  // inputs or outputs without proof that they agree
    std::uint64_t runs_with_seen_ends = 0;      // inputs and outputs are known, and no difference was seen
    std::uint64_t runs_by_derived_rule = 0;
    std::uint64_t runs_without_outputs = 0;  // in one recording or both
    std::uint64_t only_first_runs = 0, only_second_runs = 0;
    std::uint64_t only_first_calls = 0, only_second_calls = 0;
    std::vector<Beginning> beginnings;    // the first ones, in order
    std::vector<DifferentInput> inputs;   // the first ones
    std::vector<std::string> only_first;  // names of calls without a partner, the first ones
    std::vector<std::string> only_second;

    Rule rule;                                      // as asked for
    std::vector<std::shared_ptr<const void>> kept;  // owns facts of the tensors above that no reader owns

    [[nodiscard]] bool has_tolerance() const {
        return runs_by_derived_rule != 0 || rule.kind == RuleKind::given || rule.kind == RuleKind::dtype;
    }
    /// Whether something differs, beyond the tolerance if there is one. With a tolerance, calls without a
    /// partner do not count, because another build may compute the same result with other calls.
    [[nodiscard]] bool is_different() const {
        const std::uint64_t without_partner = has_tolerance() ? 0 : only_first_calls + only_second_calls;
        return diverge + follow + absorb + runs_with_other_inputs + runs_with_other_outputs +
                   only_first_runs + only_second_runs + without_partner !=
               0;
    }
    [[nodiscard]] Verdict verdict() const {
        if (is_different()) return Verdict::different;
        if (not_seen + unknown + runs_with_unproven_ends + only_first_calls + only_second_calls != 0)
            return Verdict::not_seen;
        return close + runs_with_close_ends == 0 ? Verdict::equal : Verdict::close;
    }
};

/// Selects the runs of both recordings and the calls of the first that count. Empty: all of them.
struct Scope {
    std::function<bool(std::uint32_t run)> runs;
    std::function<bool(const SiteFacts& site)> calls;
};

/// How two recordings are compared.
struct Method {
    Evidence evidence = {};
    Scope scope = {};
    std::size_t most_beginnings = 100;  // that are kept
    bool outputs_suffice = false;       // a call whose outputs agree counts even if some input is unknown
};

/// Other lists keep at most this many entries.
inline constexpr std::size_t kMostListed = 100;

/// Adds a pair of runs.
void add_runs(const RecordedRun& first, const RecordedRun& second, const Method& method, Comparison& to);

/// Pairs the runs of both recordings by model and number, and those without such a partner by the model's
/// name, or its number, and order. The readers must outlive the result.
Comparison compare_recordings(RunReader& first, RunReader& second, const Method& method);

/// Compares each run with the results of a graph's nodes (reference.hpp). If some runs have the graph's
/// inputs, the others do not count. A reference lacks some inputs, so the outputs suffice. The reader and the
/// graphs must outlive the result.
Comparison compare_with_reference(RunReader& first, const std::vector<RecordedRun>& graphs,
                                  const Method& method);

}  // namespace aoti_dbg::compare
