#include "shim/findings/findings.hpp"

#include <algorithm>
#include <string_view>

#include "shim/findings/finding_facts.hpp"
#include "shim/runtime/shim_table.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {
namespace {

// A call that an exception unwound has no after side, and no event ends a run. These limits bound what is
// kept.
constexpr std::size_t kMostOpen = 4096;
constexpr std::size_t kMostRuns = 64;
constexpr std::size_t kMostSuspects = 256;    // per run
constexpr std::size_t kMostKnown = 1U << 16;  // origins; beyond this, findings are only counted
constexpr std::size_t kMostSpare = 64;

/// A different wrong size is a different finding. For other checks, the expected value may differ between
/// runs.
std::string expected_size(const Finding& finding) {
    return finding.check == "size" ? finding.expected : std::string();
}

}  // namespace

bool Findings::take(const MeasuredCall& call, Check check, std::vector<Finding>& fresh) {
    sentence_.clear();
    if (!check.values() || call.name_only) return false;
    switch (call.side) {
        case EventSide::before:
            keep_before(call);
            return false;
        case EventSide::after:
            return take_after(call, check, fresh);
        case EventSide::inputs:
            return check.nan && take_inputs(call, fresh);
        case EventSide::outputs:
            break;
    }
    const bool nan = check.nan && take_outputs(call, Anomaly::nan, fresh);
    const bool inf = check.inf && take_outputs(call, Anomaly::inf, fresh);
    return nan || inf;
}

Findings::Run& Findings::run_of(std::uint32_t number) {
    const bool is_new = runs_.find(number) == runs_.end();
    if (is_new && runs_.size() >= kMostRuns) runs_.erase(runs_.begin());
    return runs_[number];
}

void Findings::keep_before(const MeasuredCall& call) {
    if (open_.size() >= kMostOpen) open_.erase(open_.begin());
    Arguments kept;
    if (!spare_.empty()) {
        kept = std::move(spare_.back());
        spare_.pop_back();
    }
    for (const MeasuredArgument& argument : call.arguments) {
        if (argument.tensor == nullptr) continue;
        kept.push_back(argument);
        // These views are valid only during this function.
        kept.back().scalar = {};
        kept.back().values = {};
    }
    open_.insert_or_assign(call.sequence, std::move(kept));
}

Findings::Arguments Findings::take_before(std::uint64_t sequence) {
    const auto found = open_.find(sequence);
    if (found == open_.end()) return {};
    Arguments before = std::move(found->second);
    open_.erase(found);
    return before;
}

bool Findings::take_after(const MeasuredCall& call, Check check, std::vector<Finding>& fresh) {
    has_before_ = open_.count(call.sequence) != 0;
    Arguments before = take_before(call.sequence);
    bool found = false;
    // The outputs of a failed call have no meaning.
    if (call.result == 0) {
        Run& run = run_of(call.run);
        suspected_now_.clear();
        follows_now_ = false;
        if (check.nan) found = judge(call, Anomaly::nan, before, run, fresh);
        if (check.inf) found = judge(call, Anomaly::inf, before, run, fresh) || found;
        if (follows_now_) ++counts_.followers;
        if (follows_now_ && !run.is_explained) {
            ++run.unexplained;
            ++counts_.unexplained;
        }
        // A rewritten buffer no longer has the values of an earlier suspect.
        for (const MeasuredArgument& argument : call.arguments) {
            if (run.suspects.empty()) break;
            if (argument.measured != Measured::now || role_of(argument) == Role::reads) continue;
            const std::uint64_t end = argument.address + reach_of(argument);
            std::erase_if(run.suspects, [&](const Suspect& suspect) {
                return suspect.begin >= argument.address && suspect.end <= end;
            });
        }
        for (Suspect& suspect : suspected_now_) {
            if (run.suspects.size() == kMostSuspects) run.suspects.erase(run.suspects.begin());
            run.suspects.push_back(std::move(suspect));
        }
    }
    if (spare_.size() < kMostSpare) {
        before.clear();
        spare_.push_back(std::move(before));
    }
    return found;
}

bool Findings::judge(const MeasuredCall& call, Anomaly anomaly, const Arguments& before, Run& run,
                     std::vector<Finding>& fresh) {
    constexpr Wrong kAny{true, true, true};
    const auto is_wrong = [&](const MeasuredArgument& argument) { return has_wrong(argument, kAny); };
    if (std::none_of(call.arguments.begin(), call.arguments.end(), is_wrong)) return false;
    Judgement judgement(call, anomaly);
    judgement.inspect_outputs(call, before, [&](const MeasuredArgument& output, Wrong wrong) {
        const Finding as_finding = finding_of(call, kind_of(anomaly), output, wrong);
        return unsure_outputs_.count({key_of(as_finding), as_finding.tensor.label}) != 0;
    });
    if (judgement.outputs.empty() && judgement.suspected.empty()) return false;
    judgement.inspect_inputs(call, before);
    bool found = false;
    if (!judgement.guilty.empty()) {
        found = follow(call, judgement, run, fresh);
    } else if (!has_before_ &&
               std::any_of(judgement.outputs.begin(), judgement.outputs.end(),
                           [](const MeasuredArgument* output) { return role_of(*output) != Role::makes; })) {
        // The before side was dropped or forgotten, so the anomaly may be older than the call.
        return false;
    } else if (!judgement.outputs.empty()) {
        run.is_explained = true;
        found = report_call(call, judgement, fresh);
    }
    for (const MeasuredArgument* output : judgement.outputs)
        if (output->facts != nullptr && !output->facts->original_fqn.empty())
            run.written_weights.push_back(output->address);
    if (!judgement.guilty.empty() || !judgement.outputs.empty()) return found;
    for (const MeasuredArgument* output : judgement.suspected) {
        Suspect suspect{output->address, output->address + reach_of(*output), anomaly, run.unexplained,
                        finding_of(call, kind_of(anomaly), *output, judgement.wrong)};
        suspect.finding.inputs = judgement.inputs;
        suspect.finding.notes = judgement.notes;
        suspect.finding.suppression = judgement.suppression(suspect.finding.kernel);
        suspected_now_.push_back(std::move(suspect));
    }
    return false;
}

bool Findings::report_call(const MeasuredCall& call, const Judgement& judgement,
                           std::vector<Finding>& fresh) {
    const Finding::Kind kind = kind_of(judgement.anomaly);
    // A suppressed output is mentioned only if another output is not suppressed.
    const auto is_known = [&](const MeasuredArgument* output) {
        return is_suppressed(finding_of(call, kind, *output, judgement.wrong), finding_tensor(*output));
    };
    const auto first = std::find_if_not(judgement.outputs.begin(), judgement.outputs.end(), is_known);
    const MeasuredArgument* const shown =
        first == judgement.outputs.end() ? judgement.outputs.front() : *first;
    Finding finding = finding_of(call, kind, *shown, judgement.wrong);
    for (const MeasuredArgument* output : judgement.outputs)
        if (output != shown) finding.also.push_back(finding_tensor(*output));
    finding.inputs = judgement.inputs;
    finding.notes = judgement.notes;
    finding.suppression = judgement.suppression(finding.kernel);
    return report(std::move(finding), fresh);
}

bool Findings::follow(const MeasuredCall& call, const Judgement& judgement, Run& run,
                      std::vector<Finding>& fresh) {
    bool found = false;
    const std::string reader =
        "call " + std::to_string(call.call) + (call.site == nullptr ? "" : ", " + call.site->kernel + ",");
    for (const MeasuredArgument* input : judgement.guilty) {
        const bool is_weight = input->facts != nullptr && !input->facts->original_fqn.empty();
        const bool is_of_this_run = std::find(run.written_weights.begin(), run.written_weights.end(),
                                              input->address) != run.written_weights.end();
        if (is_weight && !is_of_this_run && judgement.anomaly == Anomaly::nan) {
            run.is_explained = true;
            found = report_weight(call, *input, fresh) || found;
        } else {
            found = find_out(run, *input, judgement.anomaly, reader, fresh) || found;
        }
    }
    follows_now_ = true;
    return found;
}

bool Findings::report_weight(const MeasuredCall& call, const MeasuredArgument& weight,
                             std::vector<Finding>& fresh) {
    return report(finding_of(call, Finding::Kind::weight_nan, weight, {true, false, false}), fresh);
}

bool Findings::find_out(Run& run, const MeasuredArgument& argument, Anomaly anomaly,
                        const std::string& reader, std::vector<Finding>& fresh) {
    const std::uint64_t end = argument.address + reach_of(argument);
    const auto suspect = std::find_if(run.suspects.begin(), run.suspects.end(), [&](const Suspect& each) {
        return each.anomaly == anomaly && each.begin < end && argument.address < each.end;
    });
    if (suspect == run.suspects.end()) return false;
    Finding finding = std::move(suspect->finding);
    // The suspect came before these followers, so it explains them.
    counts_.unexplained -= run.unexplained - std::min(run.unexplained, suspect->unexplained_before);
    run.unexplained = std::min(run.unexplained, suspect->unexplained_before);
    run.suspects.erase(suspect);
    run.is_explained = true;
    finding.notes.push_back(finding.tensor.label + " already had as many " +
                            (anomaly == Anomaly::nan ? "NaN" : "Inf") +
                            " values before the call. It is reported because " + reader + " reads it");
    return report(std::move(finding), fresh);
}

bool Findings::take_inputs(const MeasuredCall& call, std::vector<Finding>& fresh) {
    bool found = false;
    for (const MeasuredArgument& argument : call.arguments) {
        constexpr Wrong kNan{true, false, false};
        if (!has_wrong(argument, kNan)) continue;
        run_of(call.run).is_explained = true;
        found = report(finding_of(call, Finding::Kind::input_nan, argument, kNan), fresh) || found;
    }
    return found;
}

bool Findings::take_outputs(const MeasuredCall& call, Anomaly anomaly, std::vector<Finding>& fresh) {
    const Wrong wrong = anomaly == Anomaly::nan ? Wrong{true, false, false} : Wrong{false, true, true};
    bool found = false;
    for (const MeasuredArgument& argument : call.arguments)
        if (has_wrong(argument, wrong))
            found = find_out(run_of(call.run), argument, anomaly, "the caller", fresh) || found;
    return found;
}

std::string_view Findings::suppressed_kind(const Finding& finding) {
    if (finding.kind == Finding::Kind::argument) return finding.check == kOrderCheck ? "races" : "args";
    return finding.kind == Finding::Kind::inf ? "inf" : "nan";
}

bool Findings::is_suppressed(const Finding& finding, const FindingTensor& tensor) const {
    const std::string_view kind = suppressed_kind(finding);
    // Releases of PyTorch spell some ops differently.
    const ShimSignature* const shim = find_shim(finding.kernel);
    if (shim != nullptr && suppress_.match(kind, shim->printed, finding.symbol, tensor.label)) return true;
    return suppress_.match(kind, finding.kernel, finding.symbol, tensor.label) ||
           suppress_.match(kind, finding.kernel, finding.symbol, tensor.original_fqn);
}

Finding::Kind Findings::kind_of(Anomaly anomaly) {
    return anomaly == Anomaly::nan ? Finding::Kind::nan : Finding::Kind::inf;
}

Findings::Key Findings::key_of(const Finding& finding) {
    const bool is_call = finding.kind == Finding::Kind::nan || finding.kind == Finding::Kind::inf;
    if (finding.kind == Finding::Kind::argument)
        return {finding.kind, finding.model, finding.site, finding.site == ~0U ? finding.call : kNoCallNumber,
                finding.check + " " + finding.kernel + " " + finding.tensor.label + " " + finding.other +
                    " " + expected_size(finding)};
    const std::uint32_t call = is_call && finding.site == ~0U ? finding.call : kNoCallNumber;
    return {finding.kind, finding.model, finding.site, call, is_call ? finding.kernel : finding.tensor.label};
}

void Findings::keep_unsure(const Key& key, const FindingTensor& output) {
    if (output.role == Role::unknown && unsure_outputs_.size() < kMostKnown)
        unsure_outputs_.emplace(key, output.label);
}

bool Findings::report(Finding finding, std::vector<Finding>& fresh) {
    Key key = key_of(finding);
    keep_unsure(key, finding.tensor);
    for (const FindingTensor& output : finding.also)
        keep_unsure(key, output);
    if (is_suppressed(finding, finding.tensor)) {
        ++counts_.suppressed;
        return false;
    }
    if (sentence_.empty()) sentence_ = finding_sentence(finding);
    if (known_.size() >= kMostKnown || !known_.insert(std::move(key)).second) {
        ++counts_.again;
        return true;
    }
    finding.number = ++counts_.findings;
    count_in_tally(TallyCount::findings);
    if (finding.suppression.empty())
        finding.suppression = suppression_for(suppressed_kind(finding), finding.kernel, finding.tensor.label);
    fresh.push_back(std::move(finding));
    return true;
}

}  // namespace aoti_dbg
