#include "cli/diff/diff_command.hpp"

#include "cli/diff/diff.hpp"
#include "cli/whole_number.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  aoti-dbg diff before/ after/               compare two recordings\n"
    "  aoti-dbg diff --runs 1,500 recording/      compare two runs of one recording\n"
    "\n"
    "Record both with `aoti-dbg run --record bits`.\n"
    "Exit codes: 0 equal, 1 different, 2 could not compare.\n";

/// Returns nothing unless the text is two numbers and a comma.
std::optional<RunPair> pair_of(const std::string& text) {
    const std::vector<std::string_view> numbers = split_list(text, Commas::all);
    if (numbers.size() != 2) return std::nullopt;
    const auto first = whole_number<std::uint32_t>(numbers[0]);
    const auto second = whole_number<std::uint32_t>(numbers[1]);
    if (!first || !second) return std::nullopt;
    return RunPair{*first, *second};
}

}  // namespace

void DiffCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Find where two recordings first differ.", kExamples);
    add_value(own, {"first", "A recording: an events.jsonl, or an output directory."}, first_);
    add_value(own, {"second", "The recording to compare it with."}, second_);
    add_value(own, {"--runs", "Compare these two runs, of one recording or of both.", "A,B"}, runs_);
    accepts(add_value(own, {"--format", "Output format: text or json.", "FORMAT"}, format_),
            {"text", "json"});
}

int DiffCommand::run() {
    DiffRequest request{first_, second_, std::nullopt, format_ == "json"};
    if (first_.empty()) return refuse("expected two recordings, or one with --runs.");
    if (format_ != "text" && format_ != "json")
        return refuse("--format: expected text or json, got " + aoti_dbg::quoted(format_) + ".");
    if (!runs_.empty()) request.runs = pair_of(runs_);
    if (!runs_.empty() && !request.runs)
        return refuse("--runs: expected two run numbers such as 1,500, got " + aoti_dbg::quoted(runs_) + ".");
    if (second_.empty() && !request.runs) return refuse("expected a second recording, or --runs A,B.");
    if (second_.empty()) request.second = first_;
    return diff(request);
}

}  // namespace aoti_dbg::cli
