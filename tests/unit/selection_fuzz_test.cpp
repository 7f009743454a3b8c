// Selection compared with a slow implementation from the documentation. Random options, given as text by
// variables and a file, decide about random calls. The slow one gets the options themselves, not their text.
// The numbers are fixed; a failure prints the seed.
#include <array>
#include <optional>
#include <set>

#include "base/glob.hpp"
#include "config/selection.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/options_fixture.hpp"

namespace aoti_dbg::selection_fuzz_test {
namespace {

constexpr std::uint64_t kOptionSets = 4000;
constexpr int kPlaces = 12;              // calls for each set of options
constexpr std::uint64_t kFarthest = 40;  // no call has a number as large
constexpr std::string_view kLetters = "abAB_0[]-!";

// ---- random options and their meaning

std::string lowered(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return text;
}

/// Every member of a set, one by one, with both cases of a letter.
std::set<char> members_of(const std::string& set) {
    std::set<char> members;
    for (std::size_t i = 0; i < set.size(); ++i) {
        if (i + 2 < set.size() && set[i + 1] == '-') {
            for (char c = set[i]; c <= set[i + 2]; ++c)  // ASCII: cannot overflow
                members.insert(c);
            i += 2;
        } else {
            members.insert(set[i]);
        }
    }
    return members;
}

bool naive_glob(const std::string& pattern, const std::string& text) {
    if (pattern.empty()) return text.empty();
    const std::string rest = pattern.substr(1);
    if (pattern[0] == '*')
        return naive_glob(rest, text) || (!text.empty() && naive_glob(pattern, text.substr(1)));
    if (text.empty()) return false;
    if (pattern[0] == '?') return naive_glob(rest, text.substr(1));
    if (pattern[0] == '[') {
        const bool negated = rest.substr(0, 1) == "!";
        const std::size_t begin = negated ? 1 : 0;
        const std::size_t end = rest.size() > begin + 1 ? rest.find(']', begin + 1) : std::string::npos;
        if (end != std::string::npos) {
            const std::set<char> members = members_of(rest.substr(begin, end - begin));
            const char c = text[0];
            const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
            const bool holds =
                members.count(c) > 0 || (is_letter && members.count(static_cast<char>(c ^ 32)) > 0);
            return holds != negated && naive_glob(rest.substr(end + 1), text.substr(1));
        }
    }
    return lowered(pattern.substr(0, 1)) == lowered(text.substr(0, 1)) && naive_glob(rest, text.substr(1));
}

struct Piece {
    std::string text;
    bool excludes = false;
    bool is_glob = true;
};
using Pieces = std::vector<Piece>;

bool takes(const Piece& piece, const std::string& name) {
    return !name.empty() &&
           (lowered(piece.text) == lowered(name) || (piece.is_glob && naive_glob(piece.text, name)));
}

bool naive_match(const Pieces& pieces, const std::string& one, const std::string& other) {
    bool any_includes = false;
    bool included = false;
    bool excluded = false;
    for (const Piece& piece : pieces) {
        const bool taken = takes(piece, one) || takes(piece, other);
        if (!piece.excludes) any_includes = true;
        if (!piece.excludes && taken) included = true;
        if (piece.excludes && taken) excluded = true;
    }
    return (included || !any_includes) && !excluded;
}

struct Slice {
    std::optional<std::uint64_t> begin, end, step;
    bool is_number = false;  // `begin` alone, without a colon

    [[nodiscard]] std::set<std::uint64_t> numbers() const {
        std::set<std::uint64_t> result;
        if (is_number) return {*begin};
        for (std::uint64_t i = begin.value_or(0); i < end.value_or(kFarthest); i += step.value_or(1))
            result.insert(i);
        return result;
    }
    [[nodiscard]] bool holds(std::optional<std::uint64_t> number) const {
        if (number) return numbers().count(*number) > 0;
        return !is_number && begin.value_or(0) == 0 && !end && step.value_or(1) == 1;
    }
    [[nodiscard]] std::string text() const {
        const auto shown = [](std::optional<std::uint64_t> n) {
            return n ? std::to_string(*n) : std::string();
        };
        if (is_number) return shown(begin);
        return shown(begin) + ":" + shown(end) + (step ? ":" + shown(step) : "");
    }
};

struct Level {
    std::string text;
    Levels levels;
};

/// The options of one layer or of one rule.
struct Said {
    std::optional<Level> pytorch_level, level;
    std::optional<Pieces> filter, kernels;
    std::optional<Slice> runs, calls;
    std::optional<Side> side;
    std::optional<Check> check;  // not available in rules
};

struct Request {
    Said variables;
    Said file;
    std::vector<Said> rules;
};

struct Place {
    std::string printed, symbol;
    std::optional<std::uint64_t> run, call;
};

/// The first one with a value.
template <typename T>
const std::optional<T>& first_of(std::initializer_list<const std::optional<T>*> sayings) {
    for (const std::optional<T>* saying : sayings)
        if (*saying) return *saying;
    return **(sayings.end() - 1);
}

Selected naive_select(const Request& request, const Place& place) {
    const Said& own = request.variables;
    const Said& file = request.file;
    const Pieces kernels =
        first_of({&own.kernels, &own.filter, &file.kernels, &file.filter}).value_or(Pieces());
    if (!naive_match(kernels, place.printed, place.symbol)) return {};
    Said rule;
    for (const Said& each : request.rules) {
        if (!naive_match(*each.kernels, place.printed, place.symbol)) continue;
        rule = each;
        break;
    }
    const auto level = first_of({&own.level, &own.pytorch_level, &rule.level, &file.level});
    const Slice runs = first_of({&own.runs, &rule.runs, &file.runs}).value_or(Slice());
    const Slice calls = first_of({&own.calls, &rule.calls, &file.calls}).value_or(Slice());
    const Side side = first_of({&own.side, &rule.side, &file.side}).value_or(Side::both);
    if (!runs.holds(place.run) || !calls.holds(place.call)) return {};
    const Levels levels = level ? level->levels : Levels();
    const bool rule_is_replaced = own.level || own.pytorch_level;
    const bool is_off = !rule_is_replaced && rule.level && !rule.level->levels.any();
    Selected selected;
    if (!is_off) selected.check = first_of({&own.check, &file.check}).value_or(Check{levels.stats, false});
    if (side != Side::after) selected.before = levels;
    if (side != Side::before) selected.after = levels;
    return selected;
}

// ---- random generation

class Maker {
  public:
    explicit Maker(std::uint64_t seed) : random_(seed) {
        for (std::string& each : names_)
            each = name();
    }

    Request request() {
        Request result{said(3), said(2), {}};
        result.file.pytorch_level.reset();  // not available in a file
        const std::size_t rules = random_.below(4);
        for (std::size_t i = 0; i < rules; ++i) {
            Said rule = said(2);
            rule.pytorch_level.reset();
            rule.filter.reset();
            rule.check.reset();
            rule.kernels = pieces();
            result.rules.push_back(rule);
        }
        if (random_.one_in(4)) return result;
        result.variables.level.reset();
        result.variables.pytorch_level.reset();
        if (!result.file.level) result.file.level = level();
        return result;
    }
    Place place() {
        const auto number = [&] { return std::optional<std::uint64_t>(random_.below(8)); };
        if (random_.one_in(6))
            return {random_.one_of(names_), random_.one_of(names_), std::nullopt, std::nullopt};
        return {random_.one_of(names_), random_.one_of(names_), number(), number()};
    }

  private:
    /// Includes each option with a chance of one in `rarity`.
    Said said(std::size_t rarity) {
        Said result;
        if (random_.one_in(rarity * 2)) result.pytorch_level = pytorch_level();
        if (random_.one_in(rarity)) result.level = level();
        if (random_.one_in(rarity * 2)) result.filter = exact_pieces();
        if (random_.one_in(rarity)) result.kernels = pieces();
        if (random_.one_in(rarity)) result.runs = slice();
        if (random_.one_in(rarity)) result.calls = slice();
        if (random_.one_in(rarity))
            result.side = random_.one_of(std::array{Side::both, Side::before, Side::after});
        if (random_.one_in(rarity * 3))
            result.check = random_.one_of(std::array{Check{}, Check{true, false}, Check{true, true}});
        return result;
    }
    std::string name() {
        std::string text;
        const std::size_t length = 1 + random_.below(6);
        while (text.size() < length)
            text += random_.one_of(kLetters);
        return random_.one_in(8) ? text + "<" + text + "," + text + ">" : text;
    }
    Level pytorch_level() {
        return random_.one_of(std::array{Level{"0", {}}, Level{"3", {true, false, false}}});
    }
    Level level() {
        return random_.one_of(
            std::array{Level{"0", {}}, Level{"1", {false, false, true}}, Level{"2", {false, true, false}},
                       Level{"names", {true, false, false}}, Level{"stats,files", {false, true, true}}});
    }
    /// A name with some blurred parts, so that it matches often.
    Piece piece() {
        std::string text;
        for (const char c : random_.one_of(names_)) {
            const std::size_t choice = random_.below(12);
            const std::string one(1, c);
            if (choice == 0) {
                text += "*";
            } else if (choice == 1) {
                text += "?";
            } else if (choice == 2) {
                text += "[" + one + random_.one_of(kLetters) + "]";
            } else if (choice == 3) {
                text +=
                    "[!" + std::string(1, random_.one_of(kLetters)) + "-" + random_.one_of(kLetters) + "]";
            } else if (choice == 4) {
                text += random_.one_of(kLetters);
            } else {
                text += one;
            }
        }
        if (random_.one_in(3)) text = text.substr(0, 1 + random_.below(text.size())) + "*";
        if (!is_balanced(text)) text = "*";
        if (text.front() == '!') text.insert(0, "*");
        return {text, random_.one_in(3), true};
    }
    static bool is_balanced(const std::string& text) {
        const bool opens = text.find('<') != std::string::npos;
        return opens == (text.find('>') != std::string::npos) &&
               (opens || text.find(',') == std::string::npos);
    }
    Pieces pieces() {
        Pieces result;
        const std::size_t count = 1 + random_.below(3);
        while (result.size() < count)
            result.push_back(piece());
        return result;
    }
    Pieces exact_pieces() {
        Pieces result;
        const std::size_t count = 1 + random_.below(4);
        while (result.size() < count)
            result.push_back({random_.one_of(names_), false, false});
        return result;
    }
    Slice slice() {
        Slice result;
        do {
            result = Slice();
            result.is_number = random_.one_in(4);
            if (result.is_number || random_.one_in(2)) result.begin = random_.below(5);
            if (!result.is_number && random_.one_in(2)) result.end = random_.below(12);
            if (!result.is_number && random_.one_in(2)) result.step = 1 + random_.below(4);
        } while (result.numbers().empty());
        return result;
    }

    Random random_;
    std::array<std::string, 5> names_;
};

// ---- as text

std::string text_of(const Pieces& pieces) {
    std::string text;
    for (const Piece& piece : pieces)
        text += (text.empty() ? "" : ", ") + std::string(piece.excludes ? "!" : "") + piece.text;
    return text;
}

std::string text_of(Side side) {
    return side == Side::both ? "both" : side == Side::before ? "Before" : "AFTER";
}

std::string text_of(Check check) {
    return check.inf ? "nan,inf" : check.nan ? "NaN" : "none";
}

Variables variables_of(const Said& said) {
    Variables variables;
    if (said.pytorch_level) variables[kPytorchLevel] = said.pytorch_level->text;
    if (said.filter) variables[kFilter] = text_of(*said.filter);
    if (said.level) variables["AOTI_DBG_LEVEL"] = said.level->text;
    if (said.kernels) variables["AOTI_DBG_KERNELS"] = text_of(*said.kernels);
    if (said.runs) variables["AOTI_DBG_RUNS"] = said.runs->text();
    if (said.calls) variables["AOTI_DBG_CALLS"] = said.calls->text();
    if (said.side) variables["AOTI_DBG_SIDE"] = text_of(*said.side);
    if (said.check) variables["AOTI_DBG_CHECK"] = text_of(*said.check);
    return variables;
}

/// No random text needs an escape.
std::string json_of(const Said& said, const std::string& more = {}) {
    std::string text;
    const auto add = [&](const std::string& key, const std::string& value) {
        text += (text.empty() ? "" : ", ") + ("\"" + key + "\": " + value);
    };
    const auto quote = [](const std::string& value) { return "\"" + value + "\""; };
    if (said.level) add("level", quote(said.level->text));
    if (said.filter) add("filter", quote(text_of(*said.filter)));
    if (said.runs) add("runs", said.runs->is_number ? said.runs->text() : quote(said.runs->text()));
    if (said.calls) add("calls", quote(said.calls->text()));
    if (said.side) add("side", quote(text_of(*said.side)));
    if (said.check) add("check", quote(text_of(*said.check)));
    if (said.kernels) {
        std::string list;
        for (const Piece& piece : *said.kernels)
            list += (list.empty() ? "" : ", ") + quote((piece.excludes ? "!" : "") + piece.text);
        add("kernels", "[" + list + "]");
    }
    if (!more.empty()) add("rules", "[" + more + "]");
    return "{" + text + "}";
}

std::string json_of(const Request& request) {
    std::string rules;
    for (const Said& rule : request.rules)
        rules += (rules.empty() ? "" : ",\n") + json_of(rule);
    return json_of(request.file, rules);
}

}  // namespace

TEST_CASE("Random options decide about random calls as the slow selection does") {
    std::size_t selected = 0;
    for (std::uint64_t seed = 1; seed <= kOptionSets; ++seed) {
        Maker maker(seed);
        const Request request = maker.request();
        const Variables variables = variables_of(request.variables);
        const std::string json = json_of(request);
        const Parsed parsed = parse_file(json, variables);
        if (!parsed.complaints.empty()) {
            CAPTURE(seed, json, variables, parsed.complaints);
            FAIL("a complaint about what is right");
        }
        // If only records can be requested for calls, every call is recorded.
        const Options& options = parsed.options;
        const bool records = options.records_all() || checks_arguments(options) || looks_for_races(options);
        const bool looks = may_measure(options) || may_save(options);
        if (looks ? !may_show(options) : may_select(options) && !may_show(options) && !records) {
            CAPTURE(seed, json, variables);
            FAIL("no expectation is known");
        }
        for (int i = 0; i < kPlaces; ++i) {
            const Place place = maker.place();
            const Selected expected = naive_select(request, place);
            const Selected answer =
                select(parsed.options, {place.printed, place.symbol, place.run, place.call});
            if (expected.any()) ++selected;
            if (answer == expected && (!answer.any() || may_select(parsed.options))) continue;
            CAPTURE(seed, json, variables);
            CAPTURE(place.printed, place.symbol, place.run.has_value(), place.run.value_or(0),
                    place.call.value_or(0));
            CAPTURE(answer.before.any(), answer.after.any(), answer.check.nan, answer.check.inf);
            CAPTURE(expected.before.any(), expected.after.any(), expected.check.nan, expected.check.inf);
            FAIL("selected otherwise");
        }
    }
    // Otherwise the test would cover little.
    CHECK(selected > kOptionSets * kPlaces / 10);
    CHECK(selected < kOptionSets * kPlaces / 2);
}

TEST_CASE("Random globs match what the slow matcher matches") {
    constexpr std::string_view kPatternLetters = "ab*?[]!-A";
    std::size_t matches = 0;
    for (std::uint64_t seed = 1; seed <= 50000; ++seed) {
        Random random(seed);
        std::string pattern;
        std::string text;
        for (std::size_t length = random.below(8); pattern.size() < length;)
            pattern += random.one_of(kPatternLetters);
        for (std::size_t length = random.below(5); text.size() < length;)
            text += random.one_of(std::string_view("abA[]-"));
        const bool expected = naive_glob(pattern, text);
        if (expected) ++matches;
        if (glob_matches(pattern, text) == expected) continue;
        CAPTURE(seed, pattern, text, expected);
        FAIL("matched otherwise");
    }
    CHECK(matches > 2500);
}

}  // namespace aoti_dbg::selection_fuzz_test
