#include "shim/findings/finding_judgement.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "base/words.hpp"
#include "config/options.hpp"
#include "shim/findings/finding_facts.hpp"

namespace aoti_dbg {
namespace {

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

bool may_be_read(Role role) {
    return role == Role::reads || role == Role::updates || role == Role::unknown;
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
    if (wants(old.requested, Requested::hash) && wants(present.requested, Requested::hash) &&
        old.hash == present.hash)
        return Came::before;
    if (count_wrong(present, wrong) > count_wrong(old, wrong)) return Came::now;
    const std::uint64_t first_before = wrong.nan ? old.real.first_nan : old.real.first_nonfinite;
    const std::uint64_t first_after = wrong.nan ? present.real.first_nan : present.real.first_nonfinite;
    if (first_before != kNoIndex && first_after < first_before) return Came::now;
    return Came::perhaps;
}

}  // namespace

bool has_wrong(const MeasuredArgument& argument, Wrong wrong) {
    return has_statistics(argument) && count_wrong(argument.statistics, wrong) != 0;
}

Role role_of(const MeasuredArgument& argument) {
    return argument.facts == nullptr ? Role::unknown : argument.facts->role;
}

Judgement::Judgement(const MeasuredCall& call, Anomaly which)
    : anomaly(which),
      wrong(which == Anomaly::nan ? Wrong{true, false, false}
                                  : Wrong{false, true, !writes_masks(call.site)}) {}

void Judgement::inspect_outputs(const MeasuredCall& call, const Arguments& before,
                                const IsOrigin& is_origin) {
    for (const MeasuredArgument& after : call.arguments) {
        if (after.measured != Measured::now || !has_wrong(after, wrong)) continue;
        const MeasuredArgument* const old = find(before, after);
        const Role role = role_of(after);
        if (role == Role::reads) {
            if (old == nullptr || !has_statistics(*old) || has_wrong(*old, wrong)) continue;
            const MeasuredArgument* const writer = writer_of(call, after);
            if (writer != nullptr && has_wrong(*writer, wrong)) continue;
            if (writer == nullptr) notes.push_back(label_of(after) + " is declared read-only but changed");
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

void Judgement::inspect_inputs(const MeasuredCall& call, const Arguments& before) {
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
        if (stays && (input == nullptr || !has_statistics(*input)) && has_statistics(after)) input = &after;
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

void Judgement::note_unmeasured(const MeasuredArgument& argument, bool missing) {
    const std::string why = missing ? "its value before the call is unknown" : why_unmeasured(argument);
    FindingTensor input = finding_tensor(argument);
    input.unmeasured = why;
    notes.push_back(std::string(anomaly == Anomaly::nan ? "NaN" : "Inf") + " may come from the input " +
                    input.label + ", which was not measured: " + why);
    inputs.push_back(std::move(input));
}

std::string Judgement::suppression(const std::string& kernel) const {
    std::set<const MeasuredArgument*> all(outputs.begin(), outputs.end());
    all.insert(suspected.begin(), suspected.end());
    std::vector<std::string> entries;
    for (const MeasuredArgument* output : all) {
        std::string entry =
            suppression_for(anomaly == Anomaly::nan ? "nan" : "inf", kernel, finding_tensor(*output).label);
        if (std::find(entries.begin(), entries.end(), entry) == entries.end())
            entries.push_back(std::move(entry));
    }
    return joined(entries, ", ");
}

}  // namespace aoti_dbg
