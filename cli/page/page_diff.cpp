// See page_diff.hpp.
#include "cli/page/page_diff.hpp"

#include <algorithm>
#include <filesystem>

#include "base/message.hpp"
#include "base/words.hpp"
#include "cli/diff/comparing.hpp"
#include "cli/diff/diff_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostListed = 10;

std::string sentence_of(const compare::Comparison& comparison) {
    const auto counted = [](std::uint64_t count, const char* noun) {
        return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
    };
    const std::string what = counted(comparison.calls, "call") + " in " + counted(comparison.runs, "run");
    switch (comparison.verdict()) {
        case compare::Verdict::equal:
            return "equal bit by bit: " + what;
        case compare::Verdict::close:
            return "equal within the tolerance: " + what;
        case compare::Verdict::not_seen:
            return "no difference seen in " + what + ", but not all of their tensors are known";
        case compare::Verdict::different:
            break;
    }
    std::vector<std::string> parts;
    const auto add = [&](std::uint64_t count, const char* noun, const char* of_one, const char* of_many) {
        if (count != 0) parts.push_back(counted(count, noun) + " " + (count == 1 ? of_one : of_many));
    };
    // The inputs come first, because everything else can follow from them.
    add(comparison.runs_with_other_inputs, "run", "has different inputs", "have different inputs");
    add(comparison.diverge, "call", "begins to differ", "begin to differ");
    add(comparison.follow, "call", "passes a difference on", "pass a difference on");
    add(comparison.runs_with_other_outputs, "run", "has different outputs", "have different outputs");
    add(comparison.only_first_runs + comparison.only_second_runs, "run", "has no counterpart",
        "have no counterpart");
    add(comparison.only_first_calls + comparison.only_second_calls, "call", "has no counterpart",
        "have no counterpart");
    return "different: " + joined(parts, ", ") + "; compared " + what;
}

/// Returns the process that recorded the file, or kNoIndex32.
std::uint32_t process_of(const std::string& events, const Page& page) {
    for (std::uint32_t process = 0; process < page.processes.size(); ++process) {
        std::error_code failed;
        if (std::filesystem::equivalent(page.processes[process].events, events, failed)) return process;
    }
    return kNoIndex32;
}

std::uint32_t row_of(const compare::Beginning& one, std::uint32_t process, const PageRows& rows) {
    for (std::uint32_t model = 0; model < rows.models.size(); ++model) {
        const PageModel& known = rows.models[model];
        if (known.number != one.other_model || (process != kNoIndex32 && known.process != process)) continue;
        const std::uint32_t row = rows.find(model, one.other_call, one.site.kernel);
        if (row != kNoIndex32) return row;
    }
    return kNoIndex32;
}

std::string difference_of(const compare::Beginning& one) {
    const std::string runs =
        "run " + std::to_string(one.run) + " against run " + std::to_string(one.other_run);
    return one.has_tensor ? one.first.facts->label + " differs, " + runs : "differs, " + runs;
}

}  // namespace

bool add_diff(const std::string& first, const std::string& second, Page& page) {
    DiffRequest request;
    request.first = first;
    request.second = second;
    request.limit = kMostListed;
    const std::unique_ptr<Recording> one = Recording::open(first);
    const std::unique_ptr<Recording> other = one == nullptr ? nullptr : Recording::open(second);
    if (other == nullptr) return false;
    const std::optional<compare::Comparison> comparison =
        compare_all(*one, *other, method_of(request, *one, *other));
    if (!comparison) return false;
    page.diff.is_there = true;
    page.diff.sentence = sentence_of(*comparison);
    page.diff.text = diff_text(*comparison, kMostListed);
    page.diff.other = first;
    const std::uint32_t process = process_of(other->path(), page);
    if (page.processes.size() > 1)
        page.left_out.push_back("differences of the other processes: the comparison is about " +
                                std::filesystem::path(other->path()).filename().string());
    for (const compare::Beginning& beginning : comparison->beginnings) {
        const std::uint32_t row = row_of(beginning, process, page.rows);
        // A call can begin to differ in many runs.
        const bool is_known =
            std::ranges::any_of(page.diff.rows, [&](const auto& known) { return known.first == row; });
        if (row != kNoIndex32 && !is_known) page.diff.rows.emplace_back(row, difference_of(beginning));
    }
    return true;
}

}  // namespace aoti_dbg::cli
