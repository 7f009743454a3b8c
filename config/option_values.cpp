// One take_<field>() per option. Must not throw, use the locale or touch the process.
#include "config/option_values.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "config/byte_size.hpp"
#include "config/pattern.hpp"
#include "config/words.hpp"

namespace aoti_dbg {
namespace {

constexpr std::uint32_t kLargestRing = 1U << 20U;  // 64 MiB per thread
constexpr std::uint32_t kMostWriters = 64;
constexpr std::uint32_t kLongestHang = 86400;  // a day
constexpr std::uint64_t kLeastStaging = std::uint64_t{1} << 20U;

Fault unknown_word(std::string_view word, const std::vector<std::string_view>& known) {
    return {{}, std::string(nearest_word(lower_case(word), known)), {}};
}

std::optional<std::uint64_t> decimal(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    if (read.ptr != end || text.empty()) return std::nullopt;
    // A number beyond 64 bits is valid and counts as the largest.
    if (read.ec == std::errc::result_out_of_range) return UINT64_MAX;
    if (read.ec != std::errc()) return std::nullopt;
    return number;
}

bool take_level_number(std::string_view text, Options& options) {
    const std::optional<std::uint64_t> number = decimal(text);
    if (!number || *number > 3) return false;
    options.levels = {*number == 3, *number == 2, *number == 1};
    options.level_given = true;
    return true;
}

Taken take_pytorch_level(const Texts& texts, Options& options) {
    if (texts.size() == 1 && take_level_number(texts.front(), options)) return std::nullopt;
    return Fault{};
}

Taken take_level(const Texts& texts, Options& options) {
    if (texts.size() == 1 && take_level_number(texts.front(), options)) return std::nullopt;
    Levels levels;
    for (const std::string_view text : texts) {
        for (const std::string_view word : split_list(text, Commas::all)) {
            if (equal_ignoring_case(word, "names")) {
                levels.names = true;
            } else if (equal_ignoring_case(word, "stats")) {
                levels.stats = true;
            } else if (equal_ignoring_case(word, "files")) {
                levels.files = true;
            } else {
                return unknown_word(word, {"names", "stats", "files"});
            }
        }
    }
    if (!levels.any()) return Fault{};
    options.levels = levels;
    options.level_given = true;
    return std::nullopt;
}

NamePatterns gathered(const Texts& texts, NamePatterns (*patterns_of)(std::string_view)) {
    NamePatterns all;
    for (const std::string_view text : texts)
        all.append(patterns_of(text));
    return all;
}

Taken take_filter(const Texts& texts, Options& options) {
    options.kernels = gathered(texts, NamePatterns::exact);
    return std::nullopt;
}

Taken take_globs(const Texts& texts, NamePatterns& patterns) {
    NamePatterns globs = gathered(texts, NamePatterns::globs);
    if (globs.matches_everything()) return Fault{"it has no pattern", {}, {}};
    patterns = std::move(globs);
    return std::nullopt;
}

Taken take_kernels(const Texts& texts, Options& options) {
    return take_globs(texts, options.kernels);
}

Taken take_window(const Texts& texts, Window& window) {
    const Result<Window> parsed = parse_window(texts.size() == 1 ? texts.front() : std::string_view());
    if (!parsed.ok()) return Fault{parsed.status().message(), {}, {}};
    window = parsed.value();
    return std::nullopt;
}

Taken take_runs(const Texts& texts, Options& options) {
    return take_window(texts, options.runs);
}

Taken take_calls(const Texts& texts, Options& options) {
    return take_window(texts, options.calls);
}

/// Parses an option that accepts one of a few words.
template <typename Choice>
Taken take_word(const Texts& texts, std::initializer_list<std::pair<std::string_view, Choice>> words,
                Choice& choice) {
    const std::string_view given = texts.size() == 1 ? texts.front() : std::string_view();
    std::vector<std::string_view> known;
    for (const auto& [word, meaning] : words) {
        if (equal_ignoring_case(given, word)) {
            choice = meaning;
            return std::nullopt;
        }
        known.push_back(word);
    }
    return unknown_word(given, known);
}

Taken take_side(const Texts& texts, Options& options) {
    return take_word(texts, {{"before", Side::before}, {"after", Side::after}, {"both", Side::both}},
                     options.side);
}

Taken take_check(const Texts& texts, Options& options) {
    Check check;
    bool none = false;
    for (const std::string_view text : texts) {
        for (const std::string_view word : split_list(text, Commas::all)) {
            if (equal_ignoring_case(word, "nan")) {
                check.nan = true;
            } else if (equal_ignoring_case(word, "inf")) {
                check.inf = true;
            } else if (equal_ignoring_case(word, "args")) {
                check.args = true;
            } else if (equal_ignoring_case(word, "races")) {
                check.races = true;
            } else if (equal_ignoring_case(word, "none") || equal_ignoring_case(word, "off")) {
                none = true;
            } else {
                return unknown_word(word, {"nan", "inf", "args", "races", "none"});
            }
        }
    }
    if (none && check.any()) return Fault{"none cannot be combined with checks", {}, {}};
    if (!none && !check.any()) return Fault{};
    options.check = check;
    return std::nullopt;
}

Taken take_on_finding(const Texts& texts, Options& options) {
    return take_word(
        texts, {{"report", OnFinding::report}, {"raise", OnFinding::raise}, {"abort", OnFinding::abort}},
        options.on_finding);
}

Taken take_suppress(const Texts& texts, Options& options) {
    Suppressions suppressions;
    for (const std::string_view text : texts) {
        const Status added = suppressions.add_list(text);
        if (!added.ok()) return Fault{added.message(), {}, {}};
    }
    if (suppressions.empty()) return Fault{"it has no pattern", {}, {}};
    options.suppress = std::move(suppressions);
    return std::nullopt;
}

Taken take_format(const Texts& texts, Options& options) {
    return take_word(
        texts,
        {{"text", OutputFormat::text}, {"compact", OutputFormat::compact}, {"jsonl", OutputFormat::jsonl}},
        options.format);
}

Taken take_stats(const Texts& texts, Options& options) {
    return take_word(
        texts,
        {{"printed", StatsDetail::printed}, {"indices", StatsDetail::indices}, {"full", StatsDetail::full}},
        options.stats);
}

Taken take_switch(const Texts& texts, bool& choice) {
    return take_word(texts, {{"on", true}, {"off", false}, {"1", true}, {"0", false}}, choice);
}

Taken take_reuse(const Texts& texts, Options& options) {
    return take_switch(texts, options.reuse);
}

Taken take_on_full(const Texts& texts, Options& options) {
    return take_word(texts, {{"wait", OnFull::wait}, {"drop", OnFull::drop}}, options.on_full);
}

Taken take_sync(const Texts& texts, Options& options) {
    return take_switch(texts, options.sync);
}

Taken take_triage(const Texts& texts, Options& options) {
    return take_switch(texts, options.triage);
}

Taken take_on_fault(const Texts& texts, Options& options) {
    return take_word(texts,
                     {{"continue", OnFault::go_on}, {"raise", OnFault::raise}, {"abort", OnFault::abort}},
                     options.on_fault);
}

Taken take_keep_dump(const Texts& texts, Options& options) {
    return take_switch(texts, options.keep_dump);
}

Taken take_max_reports(const Texts& texts, Options& options) {
    if (texts.size() == 1 && lower_case(texts.front()) == "all") {
        options.max_reports = UINT64_MAX;
        return std::nullopt;
    }
    const std::optional<std::uint64_t> number = texts.size() == 1 ? decimal(texts.front()) : std::nullopt;
    if (!number || *number == 0) return Fault{};
    options.max_reports = *number;
    return std::nullopt;
}

/// Parses a number from 1 to `most`, or a word that means 0. A larger number counts as `most`.
Taken take_capped(const Texts& texts, std::string_view word, std::uint32_t most, std::uint32_t& number) {
    const std::string_view text = texts.size() == 1 ? texts.front() : std::string_view();
    const bool is_word = equal_ignoring_case(text, word);
    const std::optional<std::uint64_t> given = is_word ? std::nullopt : decimal(text);
    if (!is_word && (!given || *given == 0)) return Fault{};
    number = static_cast<std::uint32_t>(std::min<std::uint64_t>(given.value_or(0), most));
    if (given.value_or(0) <= most) return std::nullopt;
    return Fault{{}, {}, "Using the maximum, " + std::to_string(most)};
}

Taken take_hang(const Texts& texts, Options& options) {
    return take_capped(texts, "off", kLongestHang, options.hang);
}

Taken take_on_hang(const Texts& texts, Options& options) {
    return take_word(texts, {{"report", OnHang::report}, {"raise", OnHang::raise}, {"abort", OnHang::abort}},
                     options.on_hang);
}

Taken take_completion(const Texts& texts, Options& options) {
    return take_word(texts,
                     {{"auto", Completion::automatic},
                      {"off", Completion::off},
                      {"markers", Completion::markers},
                      {"blocking", Completion::blocking}},
                     options.completion);
}

Taken take_evidence(const Texts& texts, Options& options) {
    return take_switch(texts, options.evidence);
}

Taken take_tensors(const Texts& texts, Options& options) {
    return take_globs(texts, options.tensors);
}

Taken take_limit(const Texts& texts, std::uint64_t& limit) {
    const std::string_view text = texts.size() == 1 ? texts.front() : std::string_view();
    if (equal_ignoring_case(text, "none")) {
        limit = UINT64_MAX;
        return std::nullopt;
    }
    const std::optional<std::uint64_t> bytes = parse_byte_size(text);
    if (!bytes) return Fault{};
    limit = *bytes;
    return std::nullopt;
}

Taken take_max_tensor(const Texts& texts, Options& options) {
    return take_limit(texts, options.max_tensor);
}

Taken take_max_bytes(const Texts& texts, Options& options) {
    return take_limit(texts, options.max_bytes);
}

Taken take_staging(const Texts& texts, Options& options) {
    const std::optional<std::uint64_t> bytes =
        texts.size() == 1 ? parse_byte_size(texts.front()) : std::nullopt;
    if (!bytes || *bytes < kLeastStaging) return Fault{};
    options.staging = *bytes;
    return std::nullopt;
}

Taken take_max_files(const Texts& texts, Options& options) {
    const std::optional<std::uint64_t> number = texts.size() == 1 ? decimal(texts.front()) : std::nullopt;
    if (!number || *number == 0) return Fault{};
    options.max_files = *number;
    return std::nullopt;
}

Taken take_keep(const Texts& texts, Options& options) {
    constexpr std::string_view kLast = "last:";
    const std::string text = texts.size() == 1 ? lower_case(texts.front()) : std::string();
    if (text == "first") {
        options.keep_last = 0;
        return std::nullopt;
    }
    if (text.rfind(kLast, 0) != 0) return unknown_word(text, {"first", "last:1"});
    const std::optional<std::uint64_t> runs = decimal(trimmed(std::string_view(text).substr(kLast.size())));
    if (!runs || *runs == 0) return Fault{"expected a number of runs, 1 or more, after the colon", {}, {}};
    options.keep_last = static_cast<std::uint32_t>(std::min<std::uint64_t>(*runs, UINT32_MAX));
    return std::nullopt;
}

Taken take_save_on(const Texts& texts, Options& options) {
    return take_word(texts, {{"always", SaveOn::always}, {"finding", SaveOn::finding}}, options.save_on);
}

Taken take_pt_layout(const Texts& texts, Options& options) {
    return take_word(texts, {{"runs", PtLayout::runs}, {"torch", PtLayout::torch}}, options.pt_layout);
}

Taken take_portable_names(const Texts& texts, Options& options) {
    return take_switch(texts, options.portable_names);
}

Taken take_writers(const Texts& texts, Options& options) {
    return take_capped(texts, "auto", kMostWriters, options.writers);
}

Taken take_scope(const Texts& texts, Options& options) {
    return take_word(texts, {{"model", Scope::model}, {"all", Scope::all}}, options.scope);
}

bool is_word_of_processes(std::string_view piece) {
    if (!piece.empty() && piece.front() == '!') piece = trimmed(piece.substr(1));
    return equal_ignoring_case(piece, "main") || equal_ignoring_case(piece, "all");
}

Taken take_processes(const Texts& texts, Options& options) {
    Texts pieces;
    for (const std::string_view text : texts)
        for (const std::string_view piece : split_list(text, Commas::outside_brackets))
            pieces.push_back(piece);
    if (pieces.size() == 1 && equal_ignoring_case(pieces.front(), "all")) {
        options.processes = Processes{};
        return std::nullopt;
    }
    if (pieces.size() == 1 && equal_ignoring_case(pieces.front(), "main")) {
        options.processes = Processes{true, {}};
        return std::nullopt;
    }
    if (std::any_of(pieces.begin(), pieces.end(), is_word_of_processes)) {
        return Fault{"main and all cannot be combined with patterns", {}, {}};
    }
    Processes named;
    Taken fault = take_globs(pieces, named.names);
    if (!fault) options.processes = std::move(named);
    return fault;
}

/// Parses a file name. Any text is valid.
Taken take_text(const Texts& texts, std::string& place) {
    if (texts.size() != 1) return Fault{};
    place = texts.front();
    return std::nullopt;
}

Taken take_config(const Texts& texts, Options& options) {
    return take_text(texts, options.config);
}

Taken take_torch_save_dir(const Texts& texts, Options& options) {
    return take_text(texts, options.torch_save_dir);
}

/// Parses a file name with % patterns.
Taken take_pattern(const Texts& texts, std::string& pattern) {
    std::string why = texts.size() == 1 ? pattern_fault(texts.front()) : std::string();
    return why.empty() ? take_text(texts, pattern) : Fault{std::move(why), {}, {}};
}

Taken take_out(const Texts& texts, Options& options) {
    return take_pattern(texts, options.out);
}

Taken take_log(const Texts& texts, Options& options) {
    Taken fault = take_pattern(texts, options.log);
    const bool stream =
        equal_ignoring_case(options.log, "stderr") || equal_ignoring_case(options.log, "stdout");
    if (stream) options.log = lower_case(options.log);
    return fault;
}

Taken take_ci(const Texts& texts, Options& options) {
    return take_switch(texts, options.ci);
}

Taken take_verdict_file(const Texts& texts, Options& options) {
    return take_text(texts, options.verdict_file);
}

Taken take_ring(const Texts& texts, Options& options) {
    const std::optional<std::uint64_t> number = texts.size() == 1 ? decimal(texts.front()) : std::nullopt;
    if (!number) return Fault{};
    if (*number > kLargestRing) {
        options.ring = kLargestRing;
        return Fault{{}, {}, "Using the maximum, " + std::to_string(kLargestRing)};
    }
    std::uint32_t rounded = *number == 0 ? 0 : 1;
    while (rounded < *number)
        rounded *= 2;
    options.ring = rounded;
    return std::nullopt;
}

constexpr OptionRow kRows[] = {
#define AOTI_DBG_OPTION(field, variable, flag, form, group, frequency, value_name, values, standard, brief, \
                        details)                                                                            \
    {{#field, variable, flag, FileForm::form, OptionGroup::group, Frequency::frequency, value_name, values, \
      standard, brief},                                                                                     \
     take_##field},
#include "config/options.def"
#undef AOTI_DBG_OPTION
};

void unset_levels(Rule& rule) {
    rule.levels.reset();
}

constexpr RulePart kRuleParts[] = {
    // A rule's kernels define where it applies, so the option of that name does not replace them.
    {"kernels", [](const Options& options, Rule& rule) { rule.kernels = options.kernels; }, [](Rule&) {}},
    {"pytorch_level", [](const Options& options, Rule& rule) { rule.levels = options.levels; }, unset_levels},
    {"level", [](const Options& options, Rule& rule) { rule.levels = options.levels; }, unset_levels},
    {"runs", [](const Options& options, Rule& rule) { rule.runs = options.runs; },
     [](Rule& rule) { rule.runs.reset(); }},
    {"calls", [](const Options& options, Rule& rule) { rule.calls = options.calls; },
     [](Rule& rule) { rule.calls.reset(); }},
    {"side", [](const Options& options, Rule& rule) { rule.side = options.side; },
     [](Rule& rule) { rule.side.reset(); }},
};

}  // namespace

std::span<const OptionRow> option_rows() {
    return kRows;
}

const RulePart* rule_part(std::string_view field) {
    for (const RulePart& part : kRuleParts)
        if (part.field == field) return &part;
    return nullptr;
}

}  // namespace aoti_dbg
