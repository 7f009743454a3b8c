#include "cli/diff/diff_ranks.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/message.hpp"
#include "cli/diff/comparing.hpp"
#include "cli/diff/diff_json.hpp"
#include "cli/diff/diff_text.hpp"
#include "cli/print.hpp"
#include "cli/show/find_recorded.hpp"
#include "cli/whole_number.hpp"

namespace aoti_dbg::cli {
namespace {

struct Rank {
    std::string name;  // "rank 3", or the folder if the process had no rank
    std::string path;
};

/// A rank, compared with the reference.
struct Outcome {
    const Rank* rank = nullptr;
    bool differs = false;
    bool has_other_inputs = false;
    std::string text;
    nlohmann::ordered_json json;
};

/// The newest recording of each rank, in order.
std::vector<Rank> ranks_below(const std::string& directory) {
    const Result<FoundFile> found = find_recorded(directory, Recorded::events);
    if (!found.ok()) {
        error_message(ErrorCode::nothing_recorded, "%s.", found.status().message().c_str());
        return {};
    }
    std::vector<std::string> paths = {found.value().path};
    paths.insert(paths.end(), found.value().others.begin(), found.value().others.end());
    std::map<std::pair<std::uint64_t, std::string>, Rank> ranks;
    for (const std::string& path : paths) {
        Recording recording(path);
        if (!recording.runs().next()) continue;
        const std::string& rank = recording.runs().header().rank;
        const std::string folder = std::filesystem::path(path).parent_path().filename().string();
        const std::string name = rank.empty() ? folder : "rank " + rank;
        ranks.try_emplace({whole_number<std::uint64_t>(rank).value_or(~std::uint64_t{0}), name},
                          Rank{name, path});
    }
    std::vector<Rank> ordered;
    ordered.reserve(ranks.size());
    for (auto& [key, rank] : ranks)
        ordered.push_back(std::move(rank));
    return ordered;
}

/// Inputs of ranks usually differ, and what follows from that does not count.
bool differs(const compare::Comparison& comparison, const DiffRequest& request) {
    if (comparison.runs_with_other_inputs == 0) return fails(comparison, request);
    return comparison.diverge + comparison.only_first_runs + comparison.only_second_runs != 0;
}

std::optional<Outcome> compared(const Rank& reference, const Rank& rank, const DiffRequest& request) {
    Recording first(reference.path);
    Recording second(rank.path);
    const compare::Method method = method_of(request, first, second);
    const std::optional<compare::Comparison> comparison = compare_all(first, second, method);
    if (!comparison) return std::nullopt;
    Outcome outcome{&rank, differs(*comparison, request), comparison->runs_with_other_inputs != 0, {}, {}};
    if (request.is_json)
        outcome.json = diff_document(*comparison, request.limit);
    else
        outcome.text = diff_text(*comparison, request.limit);
    return outcome;
}

using Outcomes = std::vector<Outcome>;

std::optional<Outcomes> compare_with(const Rank& reference, const std::vector<Rank>& ranks,
                                     const DiffRequest& request) {
    Outcomes outcomes;
    for (const Rank& rank : ranks) {
        if (&rank == &reference) continue;
        std::optional<Outcome> outcome = compared(reference, rank, request);
        if (!outcome) return std::nullopt;
        outcomes.push_back(std::move(*outcome));
    }
    return outcomes;
}

std::int64_t different_ones(const Outcomes& outcomes) {
    return std::ranges::count_if(outcomes, &Outcome::differs);
}

std::string indented(const std::string& text) {
    std::string result = "  ";
    for (std::size_t i = 0; i < text.size(); ++i) {
        result += text[i];
        if (text[i] == '\n' && i + 1 < text.size()) result += "  ";
    }
    return result;
}

/// Prints all lines for the first rank that differs, and the first line for the others.
std::string text_of(const Rank& reference, const Outcomes& outcomes) {
    std::string out = std::to_string(outcomes.size() + 1) + " ranks, compared with " + reference.name + ": " +
                      reference.path + "\n";
    bool has_shown = false;
    for (const Outcome& outcome : outcomes) {
        const std::string other = outcome.has_other_inputs ? ", its inputs differ" : "";
        out += outcome.rank->name + ": ";
        if (!outcome.differs) {
            out += outcome.has_other_inputs ? "no difference except what follows from its inputs\n"
                                            : outcome.text.substr(0, outcome.text.find('\n') + 1);
        } else {
            out += "different" + other + ": " + outcome.rank->path + "\n";
            out += has_shown ? indented(outcome.text.substr(0, outcome.text.find('\n') + 1))
                             : indented(outcome.text);
            has_shown = true;
        }
    }
    return out;
}

std::string json_of(const Rank& reference, const Outcomes& outcomes) {
    nlohmann::ordered_json json = {{"format", "aoti-dbg-diff-ranks"},
                                   {"version", 1},
                                   {"reference", {{"name", reference.name}, {"path", reference.path}}}};
    json["ranks"] = nlohmann::ordered_json::array();
    for (const Outcome& outcome : outcomes)
        json["ranks"].push_back({{"name", outcome.rank->name},
                                 {"path", outcome.rank->path},
                                 {"differs", outcome.differs},
                                 {"diff", outcome.json}});
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int diff_ranks(const DiffRequest& request) {
    const std::vector<Rank> ranks = ranks_below(request.first);
    if (ranks.size() < 2) {
        error_message(ErrorCode::nothing_recorded,
                      "%s: expected recordings of at least 2 ranks, got %zu. Record all ranks of one run "
                      "into one directory, with --record bits.",
                      request.first.c_str(), ranks.size());
        return kTrouble;
    }
    const Rank* reference = &ranks.front();
    std::optional<Outcomes> outcomes = compare_with(*reference, ranks, request);
    if (!outcomes) return kTrouble;
    // If most ranks differ from the first, it may be the odd one.
    if (ranks.size() > 2 && 2 * different_ones(*outcomes) > static_cast<std::int64_t>(outcomes->size())) {
        std::optional<Outcomes> others = compare_with(ranks[1], ranks, request);
        if (others && different_ones(*others) < different_ones(*outcomes)) {
            reference = &ranks[1];
            outcomes = std::move(others);
        }
    }
    const int printed =
        print(request.is_json ? json_of(*reference, *outcomes) : text_of(*reference, *outcomes));
    if (printed != 0) return kTrouble;
    return different_ones(*outcomes) == 0 ? kEqual : kDifferent;
}

}  // namespace aoti_dbg::cli
