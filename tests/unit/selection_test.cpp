// Selection as the README explains it: each line of selection_examples.def, then what holds for all of them.
#include "config/selection.hpp"

#include <set>

#include "config/option_values.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/options_fixture.hpp"

namespace aoti_dbg::selection_test {
namespace {

struct Kernel {
    std::string_view printed;
    std::string_view symbol;
};

constexpr Kernel kKernels[] = {
#define AOTI_DBG_EXAMPLE_KERNEL(printed, symbol) {printed, symbol},
#include "tests/unit/selection_examples.def"
};

/// The examples' lists: "a; b".
std::set<std::string> set_of(std::string_view list) {
    std::set<std::string> result;
    while (!list.empty()) {
        const std::size_t end = list.find("; ");
        result.emplace(list.substr(0, end));
        list.remove_prefix(end == std::string_view::npos ? list.size() : end + 2);
    }
    return result;
}

/// "--runs 7 --calls :3" as `aoti-dbg run` would pass it on, with level 3 as the default.
Variables variables_of(std::string_view flags, Variables variables = {}) {
    while (!flags.empty()) {
        const std::size_t blank = flags.find(' ');
        const std::size_t next = std::min(flags.find(" --"), flags.size());
        for (const OptionInfo& info : option_table())
            if (info.flag == flags.substr(0, blank))
                variables[std::string(info.variable)] = flags.substr(blank + 1, next - blank - 1);
        flags.remove_prefix(std::min(next + 1, flags.size()));
    }
    return variables;
}

Options options_of(std::string_view flags, const std::string& json = {}) {
    Variables variables = variables_of(flags);
    if (json.empty()) variables.emplace("AOTI_DBG_LEVEL", "3");
    Parsed parsed = json.empty() ? parse(variables) : parse_file(json, variables);
    CAPTURE(parsed.complaints);
    REQUIRE(parsed.complaints.empty());
    return parsed.options;
}

std::string symbol_of(std::string_view printed) {
    for (const Kernel& kernel : kKernels)
        if (kernel.printed == printed) return std::string(kernel.symbol);
    return {};
}

std::string lines(const Selected& selected) {
    if (selected.before.any() && selected.after.any()) return "before; after";
    return selected.before.any() ? "before" : selected.after.any() ? "after" : "";
}

std::string lines_printed(const Options& options, std::string_view kernel, int run, int call) {
    const auto number = [](int value) {
        return value < 0 ? std::nullopt : std::optional<std::uint64_t>(static_cast<std::uint64_t>(value));
    };
    return lines(select(options, {kernel, symbol_of(kernel), number(run), number(call)}));
}

void check_patterns(const std::string& patterns, std::string_view expected) {
    CAPTURE(patterns);
    const Options options = options_of("--kernels " + patterns);
    std::set<std::string> selected;
    for (const Kernel& kernel : kKernels)
        if (select(options, {kernel.printed, kernel.symbol, 0, 0}).any()) selected.emplace(kernel.printed);
    CHECK(selected == set_of(expected));
}

void check_window(const std::string& window, std::string_view expected) {
    CAPTURE(window);
    std::set<std::string> runs;
    std::set<std::string> calls;
    for (std::uint64_t number = 0; number < 10; ++number) {
        if (select(options_of("--runs " + window), {"k", "k", number, 5}).any())
            runs.insert(std::to_string(number));
        if (select(options_of("--calls " + window), {"k", "k", 5, number}).any())
            calls.insert(std::to_string(number));
    }
    CHECK(runs == set_of(expected));
    CHECK(calls == set_of(expected));
}

std::string example_file() {
    std::string text;
#define AOTI_DBG_EXAMPLE_FILE(json) text = json;
#include "tests/unit/selection_examples.def"
    return text;
}

void check_call(const std::string& flags, int run, int call, const std::string& expected) {
    CAPTURE(flags, run, call);
    CHECK(lines_printed(options_of(flags), "k", run, call) == expected);
}

void check_call_with_file(const std::string& flags, std::string_view kernel, int run, int call,
                          const std::string& expected) {
    CAPTURE(flags, std::string(kernel), run, call);
    CHECK(lines_printed(options_of(flags, example_file()), kernel, run, call) == expected);
}

}  // namespace

TEST_CASE("Patterns select what their examples list, and nothing else") {
#define AOTI_DBG_EXAMPLE_PATTERNS(patterns, selected) check_patterns(patterns, selected);
#include "tests/unit/selection_examples.def"
}

TEST_CASE("Windows contain the numbers that their examples list, of runs and of calls") {
#define AOTI_DBG_EXAMPLE_WINDOW(window, selected) check_window(window, selected);
#include "tests/unit/selection_examples.def"
}

TEST_CASE("Windows and sides together select what their examples list") {
#define AOTI_DBG_EXAMPLE_CALL(flags, run, call, printed) check_call(flags, run, call, printed);
#include "tests/unit/selection_examples.def"
}

TEST_CASE("The example of a configuration file selects what its text says") {
#define AOTI_DBG_EXAMPLE_FILE_CALL(flags, kernel, run, call, printed) \
    check_call_with_file(flags, kernel, run, call, printed);
#include "tests/unit/selection_examples.def"
}

TEST_CASE("Nothing is selected at level 0, and may_select() knows it") {
    const Options options = parse({{"AOTI_DBG_LEVEL", "0"}, {"AOTI_DBG_KERNELS", "*"}}).options;
    CHECK_FALSE(may_select(options));
    CHECK_FALSE(select(options, {"k", "k", 0, 0}).any());
}

TEST_CASE("Arguments are checked where requested, and in triage unless the options say otherwise") {
    const auto options_of = [](const Variables& variables) { return parse(variables).options; };
    CHECK_FALSE(checks_arguments(options_of({{"AOTI_DBG_LEVEL", "2"}})));
    CHECK(checks_arguments(options_of({{"AOTI_DBG_TRIAGE", "1"}})));
    CHECK_FALSE(checks_arguments(options_of({{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_CHECK", "nan"}})));
    const Options alone = options_of({{"AOTI_DBG_CHECK", "args"}});
    CHECK(checks_arguments(alone));
    CHECK(may_select(alone));
    CHECK(may_find(alone));
    CHECK_FALSE(may_measure(alone));
    CHECK_FALSE(alone.levels.any());
}

TEST_CASE("The races check runs where requested, and nowhere else") {
    const auto options_of = [](const Variables& variables) { return parse(variables).options; };
    CHECK_FALSE(looks_for_races(options_of({{"AOTI_DBG_TRIAGE", "1"}})));
    CHECK_FALSE(looks_for_races(options_of({{"AOTI_DBG_CHECK", "nan,inf,args"}})));
    CHECK(looks_for_races(options_of({{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_CHECK", "args,Races"}})));
    const Options alone = options_of({{"AOTI_DBG_CHECK", "races"}});
    CHECK(looks_for_races(alone));
    CHECK_FALSE(checks_arguments(alone));
    CHECK(may_select(alone));
    CHECK(may_find(alone));
    CHECK_FALSE(may_measure(alone));
    CHECK_FALSE(may_show(alone));
}

TEST_CASE("Level 2 checks for NaN unless the options say otherwise, and checks alone print nothing") {
    const auto selected = [](const Variables& variables) {
        const Options options = parse(variables).options;
        const Selected result = select(options, {"k", "k", 0, 0});
        CHECK(may_select(options) == result.any());
        CHECK(may_measure(options) == (result.after.stats || result.check.values()));
        return result;
    };
    CHECK(selected({{"AOTI_DBG_LEVEL", "2"}}).check == Check{true, false});
    CHECK(selected({{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_CHECK", "inf"}}).check == Check{false, true});
    CHECK(selected({{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_CHECK", "none"}}).check == Check{});
    CHECK(selected({{"AOTI_DBG_LEVEL", "3"}}).check == Check{});
    CHECK(selected({{"AOTI_DBG_CHECK", "nan"}}) == Selected{{}, {}, {true, false}});
    CHECK(selected({{"AOTI_DBG_CHECK", "nan"}, {"AOTI_DBG_SIDE", "before"}}).check.nan);
    CHECK_FALSE(selected({{"AOTI_DBG_CHECK", "none"}}).any());
    CHECK_FALSE(
        select(parse({{"AOTI_DBG_CHECK", "nan"}, {"AOTI_DBG_KERNELS", "a"}}).options, {"k", "k", 0, 0})
            .any());
}

TEST_CASE("A rule with level 0 turns the checks off, and one with level 2 on") {
    const auto check_of = [](const std::string& json, std::string_view kernel) {
        return select(parse_file(json).options, {kernel, kernel, 0, 0}).check;
    };
    const std::string off = R"({"check": "nan,inf", "rules": [{"kernels": "a", "level": 0}]})";
    CHECK(check_of(off, "a") == Check{});
    CHECK(check_of(off, "b") == Check{true, true});
    const std::string on = R"({"rules": [{"kernels": "a", "level": 2}]})";
    CHECK(check_of(on, "a") == Check{true, false});
    CHECK(check_of(on, "b") == Check{});
}

TEST_CASE("A rule can raise the level if it is 0 for all") {
    const Options options =
        parse_file(R"({"level": 0, "rules": [{"kernels": "a*", "level": "names,stats"}]})").options;
    CHECK(may_select(options));
    CHECK(select(options, {"ab", "x", 0, 0}).after == Levels{true, true, false});
    CHECK(select(options, {"x", "ab", 0, 0}).any());
    CHECK_FALSE(select(options, {"x", "x", 0, 0}).any());
    CHECK_FALSE(
        may_select(parse_file(R"({"rules": [{"kernels": "a", "level": 0}, {"kernels": "b"}]})").options));
}

TEST_CASE("Only the first matching rule counts, even if it is empty") {
    const Options options = parse_file(R"({"level": 3, "rules": [{"kernels": "a*"},
        {"kernels": "*", "level": 0}, {"kernels": "b", "level": 3}]})")
                                .options;
    CHECK(select(options, {"a", "a", 0, 0}).any());
    CHECK_FALSE(select(options, {"b", "b", 0, 0}).any());
}

TEST_CASE("A rule cannot bring back an unselected name") {
    const Options options =
        parse_file(R"({"level": 3, "kernels": "a*", "rules": [{"kernels": "*", "level": 3}]})").options;
    CHECK(select(options, {"a", "", 0, 0}).any());
    CHECK_FALSE(select(options, {"b", "", 0, 0}).any());
    CHECK_FALSE(treatment_of(options, "b", "b").levels.any());
}

TEST_CASE("A treatment gives the same answer, computed once per name") {
    const Options options =
        parse({{"AOTI_DBG_LEVEL", "3"}, {"AOTI_DBG_RUNS", "2:4"}, {"AOTI_DBG_SIDE", "before"}}).options;
    const Treatment treatment = treatment_of(options, "k", "k");
    CHECK(treatment.wants(2, 0));
    CHECK_FALSE(treatment.wants(4, 0));
    CHECK_FALSE(treatment.wants(std::nullopt, std::nullopt));
    CHECK(treatment.sides == Selected{Levels{true, false, false}, Levels{}});
}

}  // namespace aoti_dbg::selection_test
