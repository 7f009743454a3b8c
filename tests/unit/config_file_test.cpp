// The configuration file: invalid files first, then wrong entries, then the meaning and precedence of valid
// ones.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "config/json_text.hpp"
#include "config/option_values.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_program.hpp"
#include "tests/unit/options_fixture.hpp"

namespace aoti_dbg::config_file_test {
namespace {

/// The one complaint about a file with `json`. The file must change nothing.
std::string refused(const std::string& json) {
    const Parsed parsed = parse_file(json);
    Options expected = parse({}).options;
    expected.config = "c.json";
    CHECK(parsed.options == expected);
    REQUIRE(parsed.complaints.size() == 1);
    return parsed.complaints[0];
}

std::vector<std::string> complaints_about(const std::string& json) {
    return parse_file(json).complaints;
}

Options options_of(const std::string& json, const Variables& variables = {}) {
    Parsed parsed = parse_file(json, variables);
    CAPTURE(parsed.complaints);
    CHECK(parsed.complaints.empty());
    return parsed.options;
}

int open_descriptors() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        (void)entry;
        ++count;
    }
    return count;
}

void check_refused(const std::string& json, const char* reason) {
    CHECK(contains(refused(json), reason));
}

}  // namespace

TEST_CASE("A missing file is reported, and the options are as without it") {
    const Parsed parsed = parse({{"AOTI_DBG_CONFIG", "none.json"}, {"AOTI_DBG_LEVEL", "3"}});
    CHECK(parsed.options.levels.names);
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(parsed.complaints[0] ==
          "AOTI_DBG_CONFIG: cannot open none.json: no such file or directory. The file is ignored. Set "
          "AOTI_DBG_CONFIG to a readable file of at most 1 MiB.");
}

TEST_CASE("An unsuitable file is refused without waiting and without leaving a descriptor open") {
    const test::TempFolder folder;
    const auto read = process_sources().read_file;
    const auto why = [&](const std::string& path) {
        const Result<std::string> text = read(path);
        return text.ok() ? std::string("it was read") : text.status().message();
    };
    const int before = open_descriptors();
    CHECK(contains(why(folder.path() / "none"), "cannot open "));
    CHECK(contains(why(folder.path()), "not a regular file"));
    CHECK(contains(why("/dev/null"), "not a regular file"));
    REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    CHECK(contains(why(folder.path() / "pipe"), "not a regular file"));
    const std::string large = folder.path() / "large";
    const int file = open(large.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    REQUIRE(ftruncate(file, (1 << 20) + 1) == 0);
    CHECK(contains(why(large), "larger than 1 MiB"));
    REQUIRE(ftruncate(file, 1 << 20) == 0);
    CHECK(read(large).value().size() == 1U << 20U);
    close(file);
    // Its reported size is 0.
    CHECK(contains(read("/proc/self/status").value(), "Name:"));
    CHECK(open_descriptors() == before);
}

TEST_CASE("Text that is not JSON is refused as a whole, with the position of the error") {
    check_refused("", "c.json:1:1: expected an object, { ... }, got the end of the file");
    check_refused("level: 3", "c.json:1:1: expected an object, { ... }. The file is ignored.");
    check_refused(R"({"level": 3,})", "c.json:1:13: expected a key in double quotes.");
    check_refused("{level: 3}", "c.json:1:2: expected a key in double quotes or a closing }.");
    check_refused(R"({"level" 3})", "c.json:1:10: expected a colon.");
    check_refused(R"({"level": 3 "ring": 4})", "c.json:1:13: expected a comma or a closing }");
    check_refused(R"({"level": 03})", "c.json:1:12: expected a comma or a closing }");
    check_refused(R"({"level": names})", "c.json:1:11: expected a value (strings in double quotes).");
    check_refused(R"({"level": 'names'})", "c.json:1:11: expected a value (strings in double quotes)");
    check_refused(R"({"level": })", "c.json:1:11: expected a value");
    check_refused(R"({"level": tru})", "c.json:1:11: expected a value");
    check_refused(R"({"level": 3)", "c.json:1:12: expected a comma or a closing }, got the end of the file");
    check_refused(R"({"level":)", "c.json:1:10: expected a value (strings in double quotes), got the end");
    check_refused(R"({"level": ["names" 3]})", "c.json:1:20: expected a comma or a closing ]");
    check_refused(R"({"level": [1,]})", "c.json:1:14: expected a value");
    check_refused("{} {}", "c.json:1:4: expected the end of the file.");
    check_refused("{} // that is all", "c.json:1:4: expected the end of the file");
    check_refused("[]", "c.json:1:1: expected an object, { ... }.");
    check_refused("3", "c.json:1:1: expected an object");
}

TEST_CASE("A broken string or number is reported as such") {
    check_refused(R"({"level": "names})", "c.json:1:11: expected a closing quote, got the end of the file");
    check_refused(R"({"level)", "c.json:1:2: expected a closing quote, got the end of the file");
    check_refused(R"({"level": ")", "c.json:1:11: expected a closing quote, got the end of the file");
    check_refused("{\"log\": \"a\nb\"}", "c.json:1:11: invalid string: it has a line break");
    check_refused("{\"log\": \"a\\qb\"}", "c.json:1:12: invalid string: JSON has no such escape");
    check_refused("{\"log\": \"\\ud800\"}", "invalid string: JSON has no such escape");
    check_refused("{\"log\": \"a\xFF\"}", "c.json:1:11: invalid string: it is not UTF-8");
    check_refused("{\"log\": \"\xC3(\"}", "invalid string: it is not UTF-8");
    check_refused(R"({"ring": 1e999})", "c.json:1:10: invalid number: it is too large");
    check_refused(R"({"ring": 1.})", "c.json:1:10: invalid number: JSON does not allow this form");
    check_refused(R"({"ring": -})", "c.json:1:10: invalid number: JSON does not allow this form");
    check_refused(R"({"ring": +1})", "c.json:1:10: invalid number: JSON does not allow this form");
}

TEST_CASE("A NUL byte does not end a file unnoticed") {
    using namespace std::string_literals;
    check_refused("{}\0{\"level\": 3}"s, "c.json:1:3: the file has a NUL byte");
    check_refused("{\"level\": 3\0}"s, "the file has a NUL byte");
}

TEST_CASE("Endless nesting and endless lists of values exhaust nothing") {
    CHECK(contains(refused(std::string(100000, '[')), "c.json:1:17: nested too deeply"));
    std::string objects;
    for (int i = 0; i < 100000; ++i)
        objects += "{\"a\":";
    check_refused(objects, "nested too deeply");
    std::string values = "{\"kernels\": [0";
    for (int i = 0; i < 200000; ++i)
        values += ",0";
    check_refused(values + "]}", "too many values: expected at most 65536");
}

TEST_CASE("Lines end in LF or CR LF, columns count characters, and a byte order mark has no width") {
    check_refused("{\r\n  \"level\": 3,\r\n  oops\r\n}", "c.json:3:3: ");
    check_refused("{\"log\": \"\xC3\xA4\xE2\x82\xAC\", oops}", "c.json:1:15: ");
    check_refused("\xEF\xBB\xBF{oops}", "c.json:1:2: ");
    check_refused("\n\n\xEF\xBB\xBF{}", "c.json:3:1: ");
    CHECK(options_of("\xEF\xBB\xBF{\"level\": 3}").levels.names);
    check_refused("\xEF\xBB", "c.json:1:");
}

TEST_CASE("Only a wrong value is ignored, with its position, the allowed ones and the likely intended one") {
    const Parsed parsed = parse_file("{\n  \"ring\": 8,\n  \"scope\": \"modle\"\n}");
    CHECK(parsed.options.ring == 8);
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(
        parsed.complaints[0] ==
        "AOTI_DBG_CONFIG=c.json:3:12: scope: expected model or all, got \"modle\". The entry is ignored. Did "
        "you mean \"model\"?");
}

TEST_CASE("A value of the wrong type is ignored, and its type is named") {
    check_refused(R"({"ring": [4]})", "c.json:1:10: ring: expected a number or a string, got a list.");
    check_refused(R"({"level": null})", "level: expected a number, a string or a list of strings, got null");
    check_refused(R"({"level": {}})", "got an object");
    check_refused(R"({"scope": 1})", "scope: expected a string, got a number");
    check_refused(R"({"kernels": true})", "kernels: expected a string or a list of strings, got a boolean");
    check_refused(R"({"kernels": ["a", 1]})",
                  "c.json:1:19: kernels: expected a string in the list, got a number");
    check_refused(R"({"level": [3]})", "level: expected a string in the list, got a number");
    check_refused(R"({"rules": {}})", "c.json:1:11: rules: expected a list of objects, got an object");
    check_refused(R"({"rules": [3]})", "c.json:1:12: rules: expected an object in the list, got a number");
}

TEST_CASE("Numbers that the option does not accept are refused as they are written") {
    check_refused(R"({"level": 1.5})", R"(expected 0 to 3, or a list of names, stats, files, got "1.5")");
    check_refused(R"({"level": -0})", "got \"-0\"");
    check_refused(
        R"({"runs": 1e3})",
        R"(expected a number or a Python slice (begin:end:step), got "1e3": not a number or a slice)");
    check_refused(R"({"runs": -3})", "a slice cannot count from the end");
    check_refused(R"({"level": 18446744073709551616})", "got \"18446744073709551616\"");
    const Parsed large = parse_file("{\"ring\": 18446744073709551616}");
    CHECK(large.options.ring == 1048576);
    REQUIRE(large.complaints.size() == 1);
    CHECK(contains(large.complaints[0], "Using the maximum, 1048576."));
}

TEST_CASE("An unknown key is named with the likely intended one") {
    check_refused(R"({"kernal": 1})", "c.json:1:2: unknown key \"kernal\". The entry is ignored.");
    check_refused(R"({"kernal": 1})", "Did you mean \"kernels\"?");
    check_refused(R"({"--level": 3})", "Did you mean \"level\"?");
    check_refused(R"({"AOTI_DBG_LEVEL": 3})", "Did you mean \"level\"?");
    check_refused(R"({"Level": 3})", "Did you mean \"level\"?");
    CHECK_FALSE(contains(refused("{\"everything\": {\"level\": [3]}}"), "Did you mean"));
    CHECK(contains(refused("{\"a\\nb\\u0000\": 1}"), R"(unknown key "a\nb\x00".)"));
}

TEST_CASE("A file cannot name another file") {
    check_refused(R"({"config": "d.json"})", "cannot name another one");
}

TEST_CASE("Of a repeated key the first one counts") {
    const Parsed parsed = parse_file("{\"ring\": 8,\n\"ring\": 16, \"ring\": 32}");
    CHECK(parsed.options.ring == 8);
    REQUIRE(parsed.complaints.size() == 2);
    CHECK(contains(parsed.complaints[0], "c.json:2:1: duplicate key \"ring\". The first one counts."));
}

TEST_CASE("A NUL character in a string is refused") {
    check_refused("{\"log\": \"a\\u0000b\"}", "log: expected no NUL character, got \"a\\x00b\"");
}

TEST_CASE("A rule without names is ignored, one with a wrong field keeps the rest") {
    check_refused(R"({"rules": [{"side": "after"}]})", "c.json:1:12: a rule needs \"kernels\"");
    check_refused(R"({"rules": [{"kernels": ""}]})", "a rule needs \"kernels\"");
    CHECK(complaints_about("{\"rules\": [{\"kernels\": \",\", \"level\": 3}]}").size() == 2);
    CHECK_FALSE(parse_file("{\"rules\": [{\"kernels\": \",\", \"level\": 3}]}").options.level_given);
    const Parsed parsed = parse_file(
        "{\"rules\": [{\"kernels\": \"a\", \"side\": \"afer\", \"scope\": \"all\", \"runs\": 3}]}");
    REQUIRE(parsed.complaints.size() == 2);
    CHECK(contains(parsed.complaints[0],
                   "unknown key \"scope\". The entry is ignored. Known keys: "
                   "level, kernels, runs, calls, side."));
    CHECK(contains(parsed.complaints[1], "Did you mean \"after\"?"));
    REQUIRE(parsed.options.rules.size() == 1);
    CHECK(parsed.options.rules[0] ==
          Rule{NamePatterns::globs("a"), std::nullopt, Window{3, 4, 1}, std::nullopt, std::nullopt});
}

TEST_CASE("A thousand wrong entries give eight complaints and a count") {
    std::string json = "{\"level\": 3";
    for (int i = 0; i < 1000; ++i)
        json += ",\n\"wrong" + std::to_string(i) + "\": 1";
    const Parsed parsed = parse_file(json + "}");
    CHECK(parsed.options.levels.names);
    REQUIRE(parsed.complaints.size() == 9);
    CHECK(parsed.complaints.back() == "992 more invalid options.");
}

TEST_CASE("A path with a line break does not break a complaint") {
    const Parsed parsed = parse({{"AOTI_DBG_CONFIG", "a\nb"}}, {{"a\nb", "{"}});
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(contains(parsed.complaints[0], R"(AOTI_DBG_CONFIG=a\nb:1:2: )"));
}

TEST_CASE("Blank values in a file count as unset, as in variables") {
    CHECK(options_of(
              R"({"level": "", "kernels": [], "filter": ["", " "], "runs": " ", "out": "", "rules": []})")
              .out == "aoti_dbg/%t-%p");
}

// Every option, set by its variable and by the file, in each form that a file may use.
namespace {

struct Example {
    std::string_view field;
    std::string value;
    std::vector<std::string> json;  // equivalents of the value
};
const std::vector<Example> kExamples = {
    {"level", "3", {"3", R"("3")", R"(["3"])"}},
    {"level", "names,stats", {R"("names,stats")", R"(["names", "stats"])", R"(["stats,names"])"}},
    {"filter", "a,b<c,d>", {R"("a,b<c,d>")", R"(["a", "b<c,d>"])"}},
    {"kernels", "triton_*,!*_poi_*", {R"("triton_*,!*_poi_*")", R"(["triton_*", "!*_poi_*"])"}},
    {"runs", "10:20", {R"("10:20")"}},
    {"record", "bits", {R"("bits")"}},
    {"capture", "triton_*,add_*", {R"("triton_*,add_*")", R"(["triton_*", "add_*"])"}},
    {"capture_on", "fault", {R"("fault")"}},
    {"runs", "7", {"7", R"("7")"}},
    {"calls", "::1000", {R"("::1000")"}},
    {"calls", "0", {"0", R"("0")"}},
    {"side", "after", {R"("after")", R"(" After ")"}},
    {"check", "nan,inf", {R"("nan,inf")", R"(["inf", "nan"])"}},
    {"check", "args,nan", {R"("Args,nan")", R"(["nan", "args"])"}},
    {"check", "none", {R"("Off")", R"(["none"])"}},
    {"on_finding", "raise", {R"("raise")"}},
    {"suppress", "nan in a - b,c<d,e>", {R"("nan in a - b,c<d,e>")", R"(["nan in  a - b", "c<d,e>"])"}},
    {"format", "compact", {R"("compact")"}},
    {"stats", "full", {R"("full")"}},
    {"reuse", "off", {R"("off")", "0"}},
    {"on_full", "drop", {R"("drop")"}},
    {"sync", "1", {R"("on")", "1"}},
    {"timeline", "1", {R"("on")", "1"}},
    {"triage", "1", {R"("on")", "1"}},
    {"on_fault", "abort", {R"("abort")"}},
    {"keep_dump", "1", {R"("on")", "1"}},
    {"max_reports", "3", {"3", R"("3")"}},
    {"hang", "30", {"30", R"("30")"}},
    {"on_hang", "abort", {R"("abort")"}},
    {"completion", "markers", {R"("markers")", R"("Markers")"}},
    {"evidence", "0", {R"("off")", "0"}},
    {"scope", "all", {R"("all")"}},
    {"processes", "main", {R"("main")", R"(["main"])"}},
    {"processes", "python*,!*worker*", {R"("python*,!*worker*")", R"(["python*", "!*worker*"])"}},
    {"out", "/tmp/%p", {R"("/tmp/%p")"}},
    {"log", "names.log", {R"("names.log")"}},
    {"ring", "100", {"100", R"("100")"}},
    {"tensors", "buf*,!*_weight", {R"("buf*,!*_weight")", R"(["buf*", "!*_weight"])"}},
    {"max_tensor", "1GB", {"1000000000", R"("1 GB")"}},
    {"staging", "2MiB", {"2097152", R"("2MiB")"}},
    {"max_bytes", "4096", {"4096", R"("4096B")"}},
    {"max_files", "12", {"12", R"("12")"}},
    {"keep", "last:3", {R"("Last:3")"}},
    {"save_on", "finding", {R"("finding")"}},
    {"pt_layout", "torch", {R"("torch")"}},
    {"portable_names", "on", {R"("on")", "1"}},
    {"writers", "3", {"3", R"("3")"}},
};

}  // namespace

TEST_CASE("Each option means the same in a variable and in a file") {
    for (const OptionRow& row : option_rows()) {
        if (row.info.key().empty()) continue;
        CAPTURE(std::string(row.info.field));
        bool has_number = false;
        bool has_list = false;
        bool has_string = false;
        for (const Example& example : kExamples) {
            if (example.field != row.info.field) continue;
            Options by_variable = parse({{std::string(row.info.variable), example.value}}).options;
            CHECK_FALSE(by_variable == parse({}).options);
            by_variable.config = "c.json";
            for (const std::string& json : example.json) {
                CAPTURE(json);
                CHECK(options_of("{\"" + std::string(row.info.key()) + "\": " + json + "}") == by_variable);
                has_string = has_string || json.front() == '"';
                has_list = has_list || json.front() == '[';
                has_number = has_number || (json.front() >= '0' && json.front() <= '9');
            }
        }
        // An option without an example here fails, and so does one without an example of a form that it
        // accepts.
        const FileForm form = row.info.form;
        CHECK(has_string);
        CHECK(has_list == (form == FileForm::list || form == FileForm::number_or_list));
        CHECK(has_number == (form == FileForm::number || form == FileForm::number_or_list));
    }
}

TEST_CASE("An element of a list keeps its brackets to itself") {
    const NamePatterns kernels = options_of(R"({"kernels": ["less<", "more>", "a,b"]})").kernels;
    for (const std::string name : {"less<", "more>", "a", "b"})
        CHECK(kernels.match(name));
    CHECK_FALSE(kernels.match("less<,more>"));
}

TEST_CASE("A variable wins over the file, and a wrong variable leaves the file's value in effect") {
    const std::string json = R"({"scope": "all", "ring": 8, "kernels": "a", "level": 2})";
    CHECK(options_of(json, {{"AOTI_DBG_SCOPE", "model"}}).scope == Scope::model);
    CHECK(options_of(json, {{"AOTI_DBG_SCOPE", "model"}}).ring == 8);
    CHECK(options_of(json, {{kFilter, "b"}}).kernels == NamePatterns::exact("b"));
    CHECK(options_of(json, {{kPytorchLevel, "3"}}).levels == Levels{true, false, false});
    CHECK_FALSE(options_of(json, {{kPytorchLevel, "0"}}).levels.any());
    const Parsed wrong = parse_file(json, {{"AOTI_DBG_SCOPE", "modle"}});
    CHECK(wrong.options.scope == Scope::all);
    REQUIRE(wrong.complaints.size() == 1);
    CHECK(contains(wrong.complaints[0], "Using the value in the configuration file."));
}

TEST_CASE("Within a file, too, patterns win over PyTorch's filter") {
    CHECK(options_of(R"({"kernels": "a*", "filter": "b"})").kernels == NamePatterns::globs("a*"));
}

TEST_CASE("A valid variable also replaces its option in the file's rules, and no other option") {
    const std::string json =
        R"({"rules": [{"kernels": "a", "level": 3, "runs": 1, "calls": 2, "side": "after"}]})";
    const Rule whole{NamePatterns::globs("a"), Levels{true, false, false}, Window{1, 2, 1}, Window{2, 3, 1},
                     Side::after};
    const auto rule_with = [&](const char* variable, const char* value) {
        const Parsed parsed = parse_file(json, {{variable, value}});
        REQUIRE(parsed.options.rules.size() == 1);
        return parsed.options.rules[0];
    };
    Rule expected = whole;
    CHECK(rule_with("AOTI_DBG_KERNELS", "b") == expected);
    CHECK(rule_with(kFilter, "b") == expected);
    CHECK(rule_with("AOTI_DBG_RING", "1") == expected);
    CHECK(rule_with("AOTI_DBG_LEVEL", "wrong") == expected);
    CHECK(rule_with("AOTI_DBG_RUNS", " ") == expected);
    expected.levels.reset();
    CHECK(rule_with("AOTI_DBG_LEVEL", "0") == expected);
    CHECK(rule_with(kPytorchLevel, "2") == expected);
    expected = whole;
    expected.runs.reset();
    CHECK(rule_with("AOTI_DBG_RUNS", ":") == expected);
    expected = whole;
    expected.calls.reset();
    CHECK(rule_with("AOTI_DBG_CALLS", "1") == expected);
    expected = whole;
    expected.side.reset();
    CHECK(rule_with("AOTI_DBG_SIDE", "both") == expected);
}

TEST_CASE("A level in a rule counts as a given level") {
    CHECK(options_of(R"({"rules": [{"kernels": "a", "level": 2}]})").level_given);
    CHECK_FALSE(options_of(R"({"rules": [{"kernels": "a", "level": 0}]})").level_given);
    CHECK(options_of(R"({"level": 0})").level_given);
    CHECK_FALSE(options_of(R"({"ring": 8, "rules": [{"kernels": "a", "side": "after"}]})").level_given);
}

TEST_CASE("Before a start, the table says whether a file can be read and is an object") {
    const test::TempFolder folder;
    const std::string path = folder.path() / "c.json";
    const auto fault_with = [&](const std::string& text) {
        const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
        REQUIRE(file >= 0);
        REQUIRE(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
        close(file);
        return fault_of_value("AOTI_DBG_CONFIG", path);
    };
    CHECK(contains(fault_of_value("AOTI_DBG_CONFIG", path), "cannot open "));
    CHECK(contains(fault_with("{\n,"), path + ":2:1: expected a key in double quotes or a closing }."));
    CHECK(contains(fault_with("[]"), path + ":1:1: expected an object, { ... }."));
    CHECK(fault_with("{\"levle\": 3}").empty());
}

TEST_CASE("The sources of a process are its environment") {
    REQUIRE(setenv("AOTI_DBG_RING", "77", 1) == 0);
    const Sources sources = process_sources();
    CHECK(std::string(sources.environment("AOTI_DBG_RING")) == "77");
    CHECK(std::count(sources.variables.begin(), sources.variables.end(), "AOTI_DBG_RING") == 1);
    CHECK(std::all_of(sources.variables.begin(), sources.variables.end(),
                      [](const std::string& name) { return name.rfind("AOTI_DBG_", 0) == 0; }));
    unsetenv("AOTI_DBG_RING");
}

}  // namespace aoti_dbg::config_file_test
