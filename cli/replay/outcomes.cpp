#include "cli/replay/outcomes.hpp"

#include <algorithm>

#include "base/clean_text.hpp"
#include "base/words.hpp"

namespace aoti_dbg::cli {
namespace {

bool is_as_recorded(const ReplayedTensor& tensor) {
    return !tensor.different || *tensor.different == 0;
}

std::string line_of(const ReplayedTensor& tensor, bool is_poisoned) {
    std::string text;
    const std::string name = "  " + clean_text(tensor.label) + " " + tensor.shape + ": ";
    const std::string of_all = " of " + counted(tensor.elements, "element");
    if (!tensor.different) text += name + "its recorded result is not saved\n";
    if (!is_as_recorded(tensor))
        text += name + std::to_string(*tensor.different) + of_all +
                (is_poisoned ? " depend on it, first at " : " differ, first at ") +
                std::to_string(tensor.first) + "\n";
    if (tensor.poisoned != 0)
        text += name + std::to_string(tensor.poisoned) + of_all + " are not written by the launch\n";
    return text;
}

std::string condition(const LaunchedOptions& options) {
    const bool is_guarded = options.placement != PlacementKind::as_captured;
    std::string closeness = options.tolerance ? " within the tolerance" : "";
    if (!is_guarded && !options.poison) return closeness;
    return closeness + ", with " + (is_guarded ? "guarded buffers" : "") +
           (is_guarded && options.poison ? " and " : "") + (options.poison ? "poisoned memory" : "");
}

}  // namespace

void Outcomes::add(std::uint64_t hash, std::vector<ReplayedTensor> results) {
    if (count_++ == 0) first_ = std::move(results);
    ++by_hash_[hash];
}

bool Outcomes::is_as_recorded() const {
    return std::ranges::all_of(first_,
                               [](const ReplayedTensor& tensor) { return cli::is_as_recorded(tensor); });
}

bool Outcomes::is_compared() const {
    return first_.empty() || std::ranges::any_of(first_, [](const ReplayedTensor& tensor) {
               return tensor.different.has_value();
           });
}

ReplayOutcome Outcomes::outcome() const {
    if (by_hash_.size() > 1 || !is_as_recorded()) return ReplayOutcome::different;
    return is_compared() ? ReplayOutcome::equal : ReplayOutcome::unrecorded;
}

std::string Outcomes::text(const LaunchRecord& launch, const LaunchedOptions& options) const {
    const bool is_poisoned = options.poison.has_value();
    std::string text = place_of(launch) + ": ";
    const bool is_recorded = std::ranges::all_of(first_, &ReplayedTensor::is_recorded);
    if (by_hash_.size() > 1)
        text += "not the same each time";
    else if (!is_compared())
        text += "ran, and has no recorded results" + condition(options);
    else if (is_as_recorded())
        text += (is_recorded ? "equal to the record" : "gives the same results") + condition(options);
    else
        text += is_poisoned ? "reads uninitialized memory" : "different";
    text += '\n';
    for (const ReplayedTensor& tensor : first_)
        text += line_of(tensor, is_poisoned);
    const std::string launches = " in " + std::to_string(count_) + " launches\n";
    if (by_hash_.size() > 1)
        text += "  " + std::to_string(by_hash_.size()) + " different outcomes" + launches;
    else if (count_ > 1)
        text += "  the same outcome" + launches;
    return text;
}

}  // namespace aoti_dbg::cli
