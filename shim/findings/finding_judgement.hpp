// Decides for one call and one anomaly which outputs have it because of the call, and which inputs explain
// it. It knows no other call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serializer/finding.hpp"
#include "shim/findings/finding_pattern.hpp"

namespace aoti_dbg {

enum class Anomaly : std::uint8_t { nan, inf };

bool has_wrong(const MeasuredArgument& argument, Wrong wrong);
Role role_of(const MeasuredArgument& argument);

/// The comparison of one call's inputs and outputs for one anomaly.
struct Judgement {
    using Arguments = std::vector<MeasuredArgument>;
    /// Returns whether the call created the anomaly in that output before.
    using IsOrigin = std::function<bool(const MeasuredArgument&, Wrong)>;

    Judgement(const MeasuredCall& call, Anomaly which);
    void inspect_outputs(const MeasuredCall& call, const Arguments& before, const IsOrigin& is_origin);
    /// Call this after inspect_outputs().
    void inspect_inputs(const MeasuredCall& call, const Arguments& before);
    /// Returns an entry for each output that has the anomaly, suspected or not. Which of the two applies
    /// depends on earlier memory contents, and so on the process.
    [[nodiscard]] std::string suppression(const std::string& kernel) const;

    Anomaly anomaly;
    Wrong wrong;                                     // in an output
    std::vector<const MeasuredArgument*> outputs;    // have it from this call
    std::vector<const MeasuredArgument*> suspected;  // may have had it before
    std::vector<const MeasuredArgument*> guilty;     // inputs that have it
    std::vector<FindingTensor> inputs;
    std::vector<std::string> notes;

  private:
    void note_unmeasured(const MeasuredArgument& argument, bool missing);
};

}  // namespace aoti_dbg
