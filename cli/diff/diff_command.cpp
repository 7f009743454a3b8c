#include "cli/diff/diff_command.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "cli/diff/diff_ranks.hpp"
#include "cli/whole_number.hpp"
#include "config/words.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr const char* kDiffExamples =
    "Examples:\n"
    "  aoti-dbg diff before/ after/               compare two recordings\n"
    "  aoti-dbg diff --runs 1,500 recording/      compare two runs of one recording\n"
    "  aoti-dbg diff --against reference/ recording/   compare with eager PyTorch\n"
    "  aoti-dbg diff --rtol 1e-3 fp32/ bf16/      differences above a tolerance\n"
    "\n"
    "Record both with `aoti-dbg run --record bits`.\n"
    "Exit codes: 0 no difference seen, 1 different, 2 could not compare.\n";

/// Returns nothing unless the text is two numbers and a comma.
std::optional<RunPair> pair_of(const std::string& text) {
    const std::vector<std::string_view> numbers = split_list(text, Commas::all);
    if (numbers.size() != 2) return std::nullopt;
    const auto first = whole_number<std::uint32_t>(numbers[0]);
    const auto second = whole_number<std::uint32_t>(numbers[1]);
    if (!first || !second) return std::nullopt;
    return RunPair{*first, *second};
}

const std::vector<std::string>& rules() {
    static const std::vector<std::string> words = {"auto", "bits", "dtype", "derived"};
    return words;
}

}  // namespace

void DiffCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Find where two recordings first differ.", kDiffExamples);
    add_value(own, {"first", "A recording: an events.jsonl, or an output directory."}, first_);
    add_value(own, {"--ranks", "Compare the recordings of all ranks below this directory.", "DIR"}, ranks_);
    add_value(own, {"--against", "Compare with a reference that aoti_dbg.record_reference() wrote.", "DIR"},
              against_);
    add_value(own, {"second", "The recording to compare it with."}, second_);
    add_value(own,
              {"--runs",
               "Compare run A with run B, in one recording or across both. With a slice such as 10:20: "
               "compare only these "
               "runs of both.",
               "A,B"},
              runs_);
    add_value(own, {"--kernels", "Judge only calls of these kernels, as --kernels of run.", "PATTERNS"},
              kernels_);
    accepts(add_value(own,
                      {"--tolerance",
                       "Which differences count: bits, dtype (as torch.testing.assert_close), derived (more "
                       "than rounding explains), or auto: bits for the same build, else derived.",
                       "RULE"},
                      tolerance_),
            rules());
    add_value(own, {"--rtol", "Count only differences above atol + rtol * |value|.", "NUMBER"}, rtol_);
    add_value(own, {"--atol", "The atol of --rtol. If you set only one of them, the other is 0.", "NUMBER"},
              atol_);
    accepts(
        add_value(own,
                  {"--fail-on", "Exit with 1 for any bit, or only beyond the tolerance (default).", "WHAT"},
                  fail_on_),
        {"bits", "tolerance"});
    add_value(own,
              {"--limit", "List at most this many divergences. Default: 10, with --format json 100.", "N"},
              limit_);
    accepts(add_value(own, {"--format", "Output format: text or json.", "FORMAT"}, format_),
            {"text", "json"});
}

Status DiffCommand::read_runs(DiffRequest& request) const {
    if (runs_.empty()) return {};
    request.pair = pair_of(runs_);
    if (request.pair) return {};
    const Result<Window> window = parse_window(runs_);
    if (!window.ok() || runs_.find(':') == std::string::npos)
        return Status::error("--runs: expected two run numbers such as 1,500 or a slice such as 10:20, got " +
                             aoti_dbg::quoted(runs_) + ".");
    request.runs = window.value();
    return {};
}

Status DiffCommand::read_rule(DiffRequest& request) const {
    using compare::RuleKind;
    const auto rule = std::ranges::find(rules(), tolerance_);
    if (rule == rules().end())
        return Status::error(wrong_value("--tolerance", tolerance_, "a rule", rules()));
    constexpr std::array kKinds = {RuleKind::automatic, RuleKind::bits, RuleKind::dtype, RuleKind::derived};
    request.rule.kind = kKinds[static_cast<std::size_t>(rule - rules().begin())];
    if (rtol_.empty() && atol_.empty()) return {};
    if (tolerance_ != "auto")
        return Status::error("--tolerance cannot be combined with --rtol or --atol. Leave out one of them.");
    request.rule.kind = RuleKind::given;
    for (const auto& [flag, text, number] : {std::tuple("--rtol", &rtol_, &request.rule.given.relative),
                                             std::tuple("--atol", &atol_, &request.rule.given.absolute)}) {
        const std::optional<double> read = tolerance_of(text->empty() ? "0" : *text);
        if (!read) return Status::error(wrong_value(flag, *text, "a number such as 1e-5", {}));
        *number = *read;
    }
    return {};
}

Status DiffCommand::read(DiffRequest& request) const {
    request.first = first_;
    request.second = second_.empty() ? first_ : second_;
    request.is_json = format_ == "json";
    request.fails_on_bits = fail_on_ == "bits";
    request.kernels = NamePatterns::globs(kernels_);
    if (!ranks_.empty() && (!first_.empty() || !against_.empty()))
        return Status::error("--ranks compares the recordings below one directory. Leave out the others.");
    if (!ranks_.empty()) request.first = ranks_;
    if (request.first.empty())
        return Status::error("expected two recordings, or one with --runs or --against, or --ranks DIR.");
    if (format_ != "text" && format_ != "json")
        return Status::error(wrong_value("--format", format_, "a format", {"text", "json"}));
    if (fail_on_ != "bits" && fail_on_ != "tolerance")
        return Status::error(wrong_value("--fail-on", fail_on_, "a rule", {"bits", "tolerance"}));
    const std::optional<std::size_t> limit =
        limit_.empty() ? (request.is_json ? 100 : 10) : whole_number<std::size_t>(limit_);
    if (!limit) return Status::error(wrong_value("--limit", limit_, "a number of divergences", {}));
    request.limit = *limit;
    if (const Status runs = read_runs(request); !runs.ok()) return runs;
    request.reference = against_;
    if (!against_.empty() && (!second_.empty() || request.pair))
        return Status::error(
            "--against compares one recording with the reference. Leave out the second, and use "
            "a slice for --runs.");
    if (!ranks_.empty() && request.pair)
        return Status::error("--ranks compares runs with the same number. Use a slice for --runs.");
    if (second_.empty() && against_.empty() && ranks_.empty() && !request.pair)
        return Status::error("expected a second recording, --runs A,B, --against DIR or --ranks DIR.");
    return read_rule(request);
}

int DiffCommand::run() {
    DiffRequest request;
    const Status read_all = read(request);
    if (!read_all.ok()) return refuse(read_all.message());
    return ranks_.empty() ? diff(request) : diff_ranks(request);
}

}  // namespace aoti_dbg::cli
