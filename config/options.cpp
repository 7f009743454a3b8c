// Turns the variables of options.def into Options. Each option has a take_<field>() that sets its part or
// says what is wrong; the loop over the table does the rest. Must not throw, use the locale, or touch the
// process.
#include "config/options.hpp"

#include "config/options_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <ctime>
#include <initializer_list>
#include <optional>

namespace aoti_dbg {
namespace {

constexpr std::uint32_t kLargestRing = 1U << 20U;  // 64 MiB a thread
constexpr std::size_t kQuoted = 80;                // bytes of a wrong value that a complaint repeats

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower_case(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), lower);
    return result;
}

bool equal_ignoring_case(std::string_view one, std::string_view other) {
    return one.size() == other.size() && std::equal(one.begin(), one.end(), other.begin(),
                                                    [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n\v\f";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Splits at commas and drops empty pieces. With `nested`, a comma inside <> or () does not separate,
/// provided that the brackets are balanced.
std::vector<std::string> split_list(std::string_view text, bool nested) {
    std::vector<std::string> pieces;
    std::size_t begin = 0;
    std::size_t depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) {
            if (nested && (text[i] == '<' || text[i] == '(')) ++depth;
            if (nested && (text[i] == '>' || text[i] == ')') && depth > 0) --depth;
            if (text[i] != ',' || depth > 0) continue;
        }
        const std::string_view piece = trimmed(text.substr(begin, i - begin));
        if (!piece.empty()) pieces.push_back(lower_case(piece));
        begin = i + 1;
    }
    if (depth > 0) return split_list(text, false);
    return pieces;
}

std::size_t edit_distance(std::string_view one, std::string_view other) {
    constexpr std::size_t kLongest = 32;
    if (one.size() > kLongest || other.size() > kLongest) return kLongest;
    std::array<std::size_t, kLongest + 1> row{};
    for (std::size_t j = 0; j <= other.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= one.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= other.size(); ++j) {
            const std::size_t replaced = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[other.size()];
}

/// The word that somebody who typed `text` may have meant; empty when none is near.
std::string_view nearest_word(std::string_view text, std::initializer_list<std::string_view> words) {
    std::string_view best;
    std::size_t best_distance = 3;  // more than two slips is another word
    for (const std::string_view word : words) {
        const std::size_t distance = edit_distance(text, word);
        if (distance < best_distance && distance < word.size()) {
            best = word;
            best_distance = distance;
        }
    }
    return best;
}

/// What is wrong with a value.
struct Fault {
    std::string suggestion;  // a word near the one given, or empty
    std::string instead;     // what was taken, where it was not the default
};
using Taken = std::optional<Fault>;

std::optional<std::uint64_t> decimal(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    if (read.ptr != end || text.empty()) return std::nullopt;
    // A number beyond 64 bits is a number all the same: the largest.
    if (read.ec == std::errc::result_out_of_range) return UINT64_MAX;
    if (read.ec != std::errc()) return std::nullopt;
    return number;
}

bool take_level_number(std::string_view text, Levels& levels) {
    const std::optional<std::uint64_t> number = decimal(text);
    if (!number || *number > 3) return false;
    levels = Levels{};
    levels.files = *number == 1;
    levels.stats = *number == 2;
    levels.names = *number == 3;
    return true;
}

Taken take_pytorch_level(std::string_view text, Options& options) {
    if (take_level_number(text, options.levels)) return std::nullopt;
    return Fault{};
}

Taken take_level(std::string_view text, Options& options) {
    if (take_level_number(text, options.levels)) return std::nullopt;
    Levels levels;
    const std::vector<std::string> words = split_list(text, false);
    if (words.empty()) return Fault{};
    for (const std::string& word : words) {
        if (word == "names") {
            levels.names = true;
        } else if (word == "stats") {
            levels.stats = true;
        } else if (word == "files") {
            levels.files = true;
        } else {
            return Fault{std::string(nearest_word(word, {"names", "stats", "files"})), {}};
        }
    }
    options.levels = levels;
    return std::nullopt;
}

Taken take_filter(std::string_view text, Options& options) {
    options.filtered_kernels = split_list(text, true);
    return std::nullopt;
}

Taken take_scope(std::string_view text, Options& options) {
    const std::string word = lower_case(text);
    if (word == "model") {
        options.scope = Scope::model;
    } else if (word == "all") {
        options.scope = Scope::all;
    } else {
        return Fault{std::string(nearest_word(word, {"model", "all"})), {}};
    }
    return std::nullopt;
}

Taken take_out(std::string_view text, Options& options) {
    options.out = text;
    return std::nullopt;
}

Taken take_log(std::string_view text, Options& options) {
    const bool stream = equal_ignoring_case(text, "stderr") || equal_ignoring_case(text, "stdout");
    options.log = stream ? lower_case(text) : std::string(text);
    return std::nullopt;
}

Taken take_ring(std::string_view text, Options& options) {
    const std::optional<std::uint64_t> number = decimal(text);
    if (!number) return Fault{};
    if (*number > kLargestRing) {
        options.ring = kLargestRing;
        return Fault{{}, "the largest, " + std::to_string(kLargestRing) + ", is taken"};
    }
    std::uint32_t rounded = *number == 0 ? 0 : 1;
    while (rounded < *number)
        rounded *= 2;
    options.ring = rounded;
    return std::nullopt;
}

std::string quoted(std::string_view text) {
    if (text.size() <= kQuoted) return "\"" + std::string(text) + "\"";
    return "\"" + std::string(text.substr(0, kQuoted)) + "...\"";
}

struct Row {
    const char* variable;
    std::string_view values;
    std::string_view standard;
    Taken (*take)(std::string_view text, Options& options);
};

constexpr Row kRows[] = {
#define AOTI_DBG_OPTION(field, variable, flag, values, standard, help) \
    {variable, values, standard, take_##field},
#include "config/options.def"
#undef AOTI_DBG_OPTION
};

std::string advice(const Row& row, const Fault& fault) {
    std::string text = "allowed: " + std::string(row.values);
    if (!fault.suggestion.empty()) text += "; did you mean \"" + fault.suggestion + "\"?";
    return text;
}

void read_option(const Row& row, const Environment& environment, Options& options,
                 std::vector<std::string>& complaints) {
    // An empty default leaves what an earlier option has set.
    if (!row.standard.empty()) (void)row.take(row.standard, options);
    const char* const given = environment(row.variable);
    if (given == nullptr) return;
    const std::string_view text = trimmed(given);
    if (text.empty()) return;
    const Taken fault = row.take(text, options);
    if (!fault) return;
    std::string instead = fault->instead;
    if (instead.empty() && row.standard.empty()) instead = "it counts as unset";
    if (instead.empty()) instead = "the default, " + std::string(row.standard) + ", is taken";
    complaints.push_back(std::string(row.variable) + "=" + quoted(text) + " is not a value that it takes; " +
                         instead + "; " + advice(row, *fault));
}

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
    return name.data();
}

std::string local_time() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    if (localtime_r(&now, &parts) == nullptr) return "00000000-000000";
    std::array<char, 32> text{};
    if (std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &parts) == 0) return "00000000-000000";
    return text.data();
}

std::string rank(const Environment& environment) {
    for (const char* variable : {"RANK", "LOCAL_RANK", "SLURM_PROCID"}) {
        const char* const value = environment(variable);
        if (value != nullptr && *value != '\0') return value;
    }
    return "0";
}

}  // namespace

Options parse_options(const Environment& environment, std::vector<std::string>& complaints) {
    Options options;
    for (const Row& row : kRows)
        read_option(row, environment, options, complaints);
    return options;
}

std::string fault_of_value(std::string_view variable, std::string_view value) {
    for (const Row& row : kRows) {
        if (variable != row.variable) continue;
        Options unused;
        const Taken fault = row.take(trimmed(value), unused);
        return fault ? quoted(value) + " is not a value that it takes; " + advice(row, *fault)
                     : std::string();
    }
    return "no such option";
}

bool passes_filter(const Options& options, std::string_view printed, std::string_view symbol) {
    const std::vector<std::string>& wanted = options.filtered_kernels;
    return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
               return equal_ignoring_case(name, printed) || equal_ignoring_case(name, symbol);
           });
}

std::string expand_pattern(std::string_view pattern, const Environment& environment) {
    std::string result;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char letter = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        std::size_t used = 1;  // characters after the per cent sign
        if (letter == 'p') {
            result += std::to_string(getpid());
        } else if (letter == 'h') {
            result += host_name();
        } else if (letter == 'r') {
            result += rank(environment);
        } else if (letter == 't') {
            result += local_time();
        } else if (letter == '%') {
            result += '%';
        } else if (const std::size_t close = pattern.find('}', i);
                   pattern.substr(i, 3) == "%q{" && close != std::string_view::npos) {
            const char* const value = environment(std::string(pattern.substr(i + 3, close - i - 3)).c_str());
            if (value != nullptr) result += value;
            used = close - i;
        } else {
            result += pattern[i];
            used = 0;
        }
        i += used;
    }
    return result;
}

}  // namespace aoti_dbg
