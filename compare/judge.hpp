// Judges the calls of two runs in order: where a difference begins, and where it is only passed on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/memory.hpp"
#include "compare/pairing.hpp"
#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

enum class CallVerdict : std::uint8_t {
    equal,     // outputs and inputs agree, as far as is known
    diverges,  // a difference begins here
    follows,   // its inputs differ because of an earlier difference
    absorbs,   // its inputs differ, but its outputs agree
    unknown,   // too little is known
};

/// Why a difference begins at a call.
enum class Origin : std::uint8_t {
    none,
    call,      // its inputs agree, but an output differs
    scalar,    // an argument that is not a tensor differs
    constant,  // a weight or another constant differs
    memory,    // an input differs, although it agreed when it was last recorded
    unseen,    // an input differs, and what wrote it is not recorded
    alone,     // an input differs, and a call without a partner wrote it
    result,    // the calls returned different results
};

struct CallDivergence {
    CallVerdict verdict = CallVerdict::unknown;
    Origin origin = Origin::none;
    /// The tensor that shows the difference, if the verdict is `diverges`.
    std::optional<TensorPair> tensor;
    /// How far it may be apart, with RuleKind::derived.
    Spread allowed;
    /// With Origin::memory: the call that last recorded the tensor. kNoCallNumber: the run's inputs.
    std::uint32_t last_equal = kNoCallNumber;
    Agreement inputs = Agreement::unknown;
    Agreement outputs = Agreement::unknown;
    bool bits_differ = false;  // of some tensor
};

class Judge {
  public:
    /// The numbers are those of the models.
    Judge(const Evidence& evidence, std::uint32_t first_model, std::uint32_t second_model)
        : evidence_(evidence), first_model_(first_model), second_model_(second_model) {}

    /// Call it first, with the inputs of the run.
    void take_inputs(std::vector<TensorPair>& inputs);
    CallDivergence judge(const RecordedCall& first, const RecordedCall& second);
    /// The call has no partner.
    void pass(const RecordedCall& first);
    /// Call it last, with the outputs of the run.
    void take_outputs(std::vector<TensorPair>& outputs);

  private:
    /// What the inputs of a call say.
    struct Inputs {
        bool has_new = false;  // a difference begins at one of them
        Spread spread;
    };
    [[nodiscard]] bool derives() const { return evidence_.rule.kind == RuleKind::derived; }
    void settle_input(TensorPair& pair, CallDivergence& result);
    Inputs judge_inputs(std::vector<TensorPair>& pairs, CallDivergence& result);
    const TensorPair* judge_outputs(const RecordedCall& first, const RecordedCall& second,
                                    std::vector<TensorPair>& pairs, const Inputs& inputs,
                                    CallDivergence& result);
    /// Rounding, and what equal calls of one recording showed.
    [[nodiscard]] Spread allowed_for_result(const RecordedCall& first, const RecordedCall& second,
                                            const Rounding& rounding, const RecordedTensor& result,
                                            const Spread& inputs) const;
    [[nodiscard]] bool reads_different(const RecordedCall& first) const;
    Origin origin_of(const RecordedTensor& tensor, std::uint32_t& last_equal) const;
    void conclude(bool parts, const TensorPair* differing, bool has_new, CallDivergence& result);
    void record(const std::vector<TensorPair>& before, const std::vector<TensorPair>& after,
                std::uint32_t call, bool has_after);

    Evidence evidence_;
    std::uint32_t first_model_;
    std::uint32_t second_model_;
    bool has_other_shapes_ = false;  // among the inputs of the run
    bool has_begun_ = false;         // some call has diverged
    Spread widest_;                  // of all tensors that agree
    Rounding roughest_;              // of all calls
    Memory memory_;
};

}  // namespace aoti_dbg::compare
