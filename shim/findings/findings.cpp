#include "shim/findings/findings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "shim/findings/finding_facts.hpp"
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

/// Ops that write -Inf because the model requests it.
constexpr std::array<std::string_view, 5> kMasks = {"where", "masked_fill", "full", "scalar_tensor", "fill"};

/// Matches `word` as a word of its own. `aten.full_like` and `triton_poi_fused_full_0` contain "full";
/// `fullgraph` does not.
bool has_word(std::string_view text, std::string_view word) {
    const auto is_letter = [&](std::size_t at) {
        return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
    };
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const bool begins = at == 0 || !is_letter(at - 1);
        if (begins && !is_letter(at + word.size())) return true;
    }
    return false;
}

bool writes_masks(const SiteFacts* site) {
    if (site == nullptr) return false;
    return std::any_of(kMasks.begin(), kMasks.end(), [&](std::string_view mask) {
        const auto has_mask = [mask](std::string_view name) { return has_word(name, mask); };
        return has_mask(site->kernel) || has_mask(site->symbol) ||
               std::any_of(site->original_aten.begin(), site->original_aten.end(), has_mask);
    });
}

bool has_wrong(const MeasuredArgument& argument, Wrong wrong) {
    return has_statistics(argument) && count_wrong(argument.statistics, wrong) != 0;
}

bool may_be_read(Role role) {
    return role == Role::reads || role == Role::updates || role == Role::unknown;
}

Role role_of(const MeasuredArgument& argument) {
    return argument.facts == nullptr ? Role::unknown : argument.facts->role;
}

std::string label_of(const MeasuredArgument& argument) {
    return argument.facts == nullptr ? "an argument" : argument.facts->label;
}

const MeasuredArgument* find(const std::vector<MeasuredArgument>& arguments, const MeasuredArgument& same) {
    if (same.facts == nullptr) return nullptr;
    const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const MeasuredArgument& each) {
        return each.facts != nullptr && each.facts->number == same.facts->number;
    });
    return found == arguments.end() ? nullptr : &*found;
}

/// When the anomaly in an argument appeared: in the call, perhaps in the call, or before it.
enum class Came : std::uint8_t { now, perhaps, before };

Came came(const MeasuredArgument* before, const MeasuredArgument& after, Wrong wrong) {
    const bool is_comparable = before != nullptr && has_statistics(*before) &&
                               before->address == after.address &&
                               before->statistics.count == after.statistics.count;
    if (!is_comparable || !has_wrong(*before, wrong)) return Came::now;
    const TensorStatistics& old = before->statistics;
    const TensorStatistics& present = after.statistics;
    if (wants(old.wanted, Wanted::hash) && wants(present.wanted, Wanted::hash) && old.hash == present.hash)
        return Came::before;
    if (count_wrong(present, wrong) > count_wrong(old, wrong)) return Came::now;
    const std::uint64_t first_before = wrong.nan ? old.real.first_nan : old.real.first_nonfinite;
    const std::uint64_t first_after = wrong.nan ? present.real.first_nan : present.real.first_nonfinite;
    if (first_before != kNoIndex && first_after < first_before) return Came::now;
    return Came::perhaps;
}

/// A different wrong size is a different finding. For other checks, the expected value may differ between
/// runs.
std::string expected_size(const Finding& finding) {
    return finding.check == "size" ? finding.expected : std::string();
}

}  // namespace

struct Findings::Judgement {
    Anomaly anomaly = Anomaly::nan;
    Wrong wrong;                                     // in an output
    std::vector<const MeasuredArgument*> outputs;    // have it from this call
    std::vector<const MeasuredArgument*> suspected;  // may have had it before
    std::vector<const MeasuredArgument*> guilty;     // inputs that have it
    std::vector<FindingTensor> inputs;
    std::vector<std::string> notes;

    Judgement(const MeasuredCall& call, Anomaly which) : anomaly(which) {
        wrong =
            which == Anomaly::nan ? Wrong{true, false, false} : Wrong{false, true, !writes_masks(call.site)};
    }

    /// Returns an entry for each output that has the anomaly, suspected or not. Which of the two applies
    /// depends on earlier memory contents, and so on the process.
    [[nodiscard]] std::string suppression(const std::string& kernel) const {
        std::set<const MeasuredArgument*> all(outputs.begin(), outputs.end());
        all.insert(suspected.begin(), suspected.end());
        std::vector<std::string> told;
        std::string entries;
        for (const MeasuredArgument* output : all) {
            std::string entry = suppression_for(anomaly == Anomaly::nan ? "nan" : "inf", kernel,
                                                finding_tensor(*output).label);
            if (std::find(told.begin(), told.end(), entry) != told.end()) continue;
            entries += (told.empty() ? "" : ", ") + entry;
            told.push_back(std::move(entry));
        }
        return entries;
    }

    void inspect_inputs(const MeasuredCall& call, const Arguments& before) {
        // Inf that results from NaN is not a finding, so both excuse it.
        const Wrong excuse = anomaly == Anomaly::nan ? Wrong{true, false, false} : Wrong{true, true, true};
        for (const MeasuredArgument& after : call.arguments) {
            if (after.tensor == nullptr) {
                if (!after.scalar.empty()) inputs.push_back(finding_tensor(after));
                continue;
            }
            if (!may_be_read(role_of(after))) continue;
            const MeasuredArgument* input = find(before, after);
            // An argument that is only read has the same value after the call.
            const bool stays = role_of(after) == Role::reads && writer_of(call, after) == nullptr;
            if (stays && (input == nullptr || !has_statistics(*input)) && has_statistics(after))
                input = &after;
            if (input == nullptr || !has_statistics(*input)) {
                note_unmeasured(input == nullptr ? after : *input, input == nullptr);
                continue;
            }
            inputs.push_back(finding_tensor(*input));
            // A value that the call itself may have left there does not excuse the call.
            const bool is_own = std::find(suspected.begin(), suspected.end(), &after) != suspected.end();
            if (!is_own && count_wrong(input->statistics, excuse) != 0) guilty.push_back(input);
        }
    }

    /// `is_origin` returns whether the call created the anomaly in that output before.
    template <typename IsOrigin>
    void inspect_outputs(const MeasuredCall& call, const Arguments& before, const IsOrigin& is_origin) {
        for (const MeasuredArgument& after : call.arguments) {
            if (after.measured != Measured::now || !has_wrong(after, wrong)) continue;
            const MeasuredArgument* const old = find(before, after);
            const Role role = role_of(after);
            if (role == Role::reads) {
                if (old == nullptr || !has_statistics(*old) || has_wrong(*old, wrong)) continue;
                const MeasuredArgument* const writer = writer_of(call, after);
                if (writer != nullptr && has_wrong(*writer, wrong)) continue;
                if (writer == nullptr)
                    notes.push_back(label_of(after) + " is declared read-only but changed");
            }
            if (role == Role::writes && old != nullptr && !has_statistics(*old))
                notes.push_back("the contents of " + label_of(after) + " before the call were not measured");
            const Came when = came(old, after, wrong);
            if (when == Came::now) {
                outputs.push_back(&after);
            } else if (role == Role::writes || (role == Role::unknown && is_origin(after, wrong))) {
                suspected.push_back(&after);
            }
        }
    }

  private:
    void note_unmeasured(const MeasuredArgument& argument, bool missing) {
        const std::string why = missing ? "its value before the call is unknown" : why_unmeasured(argument);
        FindingTensor input = finding_tensor(argument);
        input.unmeasured = why;
        notes.push_back(std::string(anomaly == Anomaly::nan ? "NaN" : "Inf") + " may come from the input " +
                        input.label + ", which was not measured: " + why);
        inputs.push_back(std::move(input));
    }
};

bool Findings::take(const MeasuredCall& call, Check check, std::vector<Finding>& fresh) {
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
