// The values that select calls and say what to do with them. See option_readers.hpp.
#include <algorithm>
#include <utility>

#include "config/option_readers.hpp"

namespace aoti_dbg::option_values {
namespace {

bool take_level_number(std::string_view text, Options& options) {
    const std::optional<std::uint64_t> number = decimal(text);
    if (!number || *number > 3) return false;
    options.levels = {*number == 3, *number == 2, *number == 1};
    options.level_given = true;
    return true;
}

NamePatterns gathered(const Texts& texts, NamePatterns (*patterns_of)(std::string_view)) {
    NamePatterns all;
    for (const std::string_view text : texts)
        all.append(patterns_of(text));
    return all;
}

Taken take_globs(const Texts& texts, NamePatterns& patterns) {
    NamePatterns globs = gathered(texts, NamePatterns::globs);
    if (globs.matches_everything()) return Fault{"it has no pattern", {}, {}};
    patterns = std::move(globs);
    return std::nullopt;
}

Taken take_window(const Texts& texts, Window& window) {
    const Result<Window> parsed = parse_window(only_text(texts));
    if (!parsed.ok()) return Fault{parsed.status().message(), {}, {}};
    window = parsed.value();
    return std::nullopt;
}

/// Records the selected calls and prints none of them.
void record_calls(bool has_files, Options& options) {
    options.levels = {false, true, has_files};
    options.level_given = true;
    options.stats = has_files ? StatsDetail::full : StatsDetail::hashes;
    options.format = OutputFormat::none;
}

/// A launch that faults has no results, so only what it reads is saved for a fault.
void capture_calls(Options& options) {
    options.captures = true;
    record_calls(true, options);
    if (options.capture_on != CaptureOn::fault) return;
    options.levels.stats = false;
    options.side = Side::before;
}

/// Takes the place from the end of "triton_*@3:41": run 3, call 41.
Taken take_place(std::string_view& text, Window& runs, Window& calls) {
    const std::size_t at = text.rfind('@');
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view place = text.substr(at + 1);
    const std::size_t between = place.find(':');
    const std::optional<std::uint64_t> run = decimal(place.substr(0, between));
    const std::optional<std::uint64_t> call =
        between == std::string_view::npos ? std::nullopt : decimal(place.substr(between + 1));
    if (!run || !call) return Fault{"expected a run and a call after @, such as @3:41", {}, {}};
    text = text.substr(0, at);
    const Result<Window> one_run = parse_window(std::to_string(*run));
    const Result<Window> one_call = parse_window(std::to_string(*call));
    if (!one_run.ok() || !one_call.ok()) return Fault{"the run or call number is too large", {}, {}};
    runs = one_run.value();
    calls = one_call.value();
    return std::nullopt;
}

bool is_word_of_processes(std::string_view piece) {
    if (!piece.empty() && piece.front() == '!') piece = trimmed(piece.substr(1));
    return equal_ignoring_case(piece, "main") || equal_ignoring_case(piece, "all");
}

}  // namespace

Taken take_pytorch_level(const Texts& texts, Options& options) {
    if (take_level_number(only_text(texts), options)) return std::nullopt;
    return Fault{};
}

Taken take_record(const Texts& texts, Options& options) {
    bool has_files = false;
    if (Taken fault = take_word(texts, {{"bits", false}, {"full", true}}, has_files)) return fault;
    record_calls(has_files, options);
    return std::nullopt;
}

Taken take_capture(const Texts& texts, Options& options) {
    Texts patterns = texts;
    Window runs = options.runs;
    Window calls = options.calls;
    if (!patterns.empty())
        if (Taken fault = take_place(patterns.back(), runs, calls)) return fault;
    for (const std::string_view text : patterns)
        if (text.find('@') != std::string_view::npos)
            return Fault{"only the last pattern can have the numbers of a run and of a call", {}, {}};
    if (Taken fault = take_globs(patterns, options.kernels)) return fault;
    options.runs = runs;
    options.calls = calls;
    capture_calls(options);
    return std::nullopt;
}

Taken take_capture_on(const Texts& texts, Options& options) {
    if (Taken fault = take_word(
            texts,
            {{"always", CaptureOn::always}, {"finding", CaptureOn::finding}, {"fault", CaptureOn::fault}},
            options.capture_on))
        return fault;
    capture_calls(options);
    return std::nullopt;
}

Taken take_level(const Texts& texts, Options& options) {
    if (take_level_number(only_text(texts), options)) return std::nullopt;
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

Taken take_filter(const Texts& texts, Options& options) {
    options.kernels = gathered(texts, NamePatterns::exact);
    return std::nullopt;
}

Taken take_kernels(const Texts& texts, Options& options) {
    return take_globs(texts, options.kernels);
}

Taken take_runs(const Texts& texts, Options& options) {
    return take_window(texts, options.runs);
}

Taken take_calls(const Texts& texts, Options& options) {
    return take_window(texts, options.calls);
}

Taken take_side(const Texts& texts, Options& options) {
    return take_word(texts, {{"before", Side::before}, {"after", Side::after}, {"both", Side::both}},
                     options.side);
}

Taken take_tensors(const Texts& texts, Options& options) {
    return take_globs(texts, options.tensors);
}

Taken take_scope(const Texts& texts, Options& options) {
    return take_word(texts, {{"model", Scope::model}, {"all", Scope::all}}, options.scope);
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

}  // namespace aoti_dbg::option_values
