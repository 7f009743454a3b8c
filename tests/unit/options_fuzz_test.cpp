// Feeds damaged values and files to the readers of options, with fixed random numbers. The result must be
// valid options and a few lines for the user. Meant for the sanitizer builds; other builds still check what
// must hold for any result.
#include <algorithm>

#include "config/option_values.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/options_fixture.hpp"

namespace aoti_dbg::options_fuzz_test {

using namespace std::string_view_literals;

namespace {

constexpr int kRounds = 6000;
constexpr std::size_t kLongest = 2048;

bool is_one_printable_line(const std::string& text) {
    return !text.empty() && text.size() <= 2000 && std::all_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
    });
}

/// A complaint that names a position must name one in the file.
bool names_a_place(const std::string& complaint, const std::string& json) {
    const std::string prefix = "AOTI_DBG_CONFIG=c.json:";
    if (complaint.rfind(prefix, 0) != 0) return true;
    const long line = std::strtol(complaint.c_str() + prefix.size(), nullptr, 10);
    return line >= 1 && line <= 1 + std::count(json.begin(), json.end(), '\n');
}

bool makes_sense(const Window& window) {
    return window.begin < window.end && window.step > 0;
}

/// Describes what is invalid in the result, or returns nothing.
std::string_view nonsense_in(const Parsed& parsed, const std::string& json) {
    if (parsed.complaints.size() > 9) return "more complaints than a person reads";
    for (const std::string& complaint : parsed.complaints) {
        if (!is_one_printable_line(complaint)) return "a complaint that is not a printable line";
        if (!names_a_place(complaint, json)) return "a place that is not in the file";
    }
    const Options& options = parsed.options;
    if ((options.ring & (options.ring - 1)) != 0 || options.ring > 1048576) return "the size of the ring";
    if (options.log.empty() || options.out.empty()) return "nowhere to write to";
    if (!makes_sense(options.runs) || !makes_sense(options.calls)) return "an empty window";
    for (const Rule& rule : options.rules) {
        if (rule.kernels.matches_everything()) return "a rule for nobody";
        if (!makes_sense(rule.runs.value_or(Window())) || !makes_sense(rule.calls.value_or(Window())))
            return "an empty window in a rule";
    }
    return {};
}

void check(const Variables& variables, const std::string& json) {
    const auto parse_once = [&] { return json.empty() ? parse(variables) : parse_file(json, variables); };
    const Parsed parsed = parse_once();
    const std::string_view nonsense = nonsense_in(parsed, json);
    const bool is_steady = parse_once() == parsed;
    if (nonsense.empty() && is_steady) return;
    CAPTURE(variables, json, parsed.complaints, std::string(nonsense), is_steady);
    FAIL("what was parsed does not make sense, or is not the same each time");
}

const std::vector<std::string>& good_values() {
    static const std::vector<std::string> values = {"0",
                                                    "3",
                                                    "names,stats",
                                                    "triton_*,!*_poi_*",
                                                    "gemm<float, 4>(int),[a-f]*",
                                                    "10:20",
                                                    "::1000",
                                                    "before",
                                                    "both",
                                                    "model",
                                                    "all",
                                                    "main",
                                                    "aoti/%t-%p",
                                                    "stderr",
                                                    "4096",
                                                    "1048576",
                                                    "python*",
                                                    "nan,inf",
                                                    "nan in a<b, c> - buf0,./known.txt,inf in *",
                                                    "raise",
                                                    "99999999999999999999"};
    return values;
}

const std::vector<std::string>& good_files() {
    static const std::vector<std::string> files = {
        R"({"level": 3, "kernels": ["triton_*", "!*_poi_*"], "runs": "10:20", "calls": 0, "side": "after"})",
        R"({"filter": "a,b<c, d>", "scope": "all", "processes": "main", "out": "o", "log": "l", "ring": 1e2})",
        R"({"check": ["nan"], "suppress": ["nan in a - b", "./k"], "on-finding": "raise", "sync": 1})",
        "{\r\n  \"level\": [\"names\", \"files\"],\r\n  \"rules\": [\r\n    {\"kernels\": \"a\", \"level\": "
        "0, \"runs\": 3},\r\n"
        "    {\"kernels\": [\"\\u00e9*\", \"\\ud83d\\ude00\"], \"calls\": \"::7\", \"side\": \"before\"}\r\n "
        " ]\r\n}\r\n",
        "\xEF\xBB\xBF{\"a\": [true, false, null, -1.5e-3, {\"b\": {}}], \"rules\": [{\"kernels\": "
        "\"\xC3\xA4?\"}]}",
    };
    return files;
}

std::string stretch(const std::string& text, Random& random) {
    const std::size_t start = random.below(text.size());
    return text.substr(start, 1 + random.below(text.size() - start));
}

void damage(std::string& text, const std::vector<std::string>& seeds, std::string_view spice,
            Random& random) {
    const std::size_t place = random.below(text.size() + 1);
    switch (random.below(6)) {
        case 0:
            text.insert(place, 1, random.one_of(spice));
            break;
        case 1:
            text.insert(place, stretch(random.one_of(seeds), random));
            break;
        case 2:
            text.erase(place, 1 + random.below(8));
            break;
        case 3:
            text.resize(place);
            break;
        case 4:
            text = random.one_of(seeds);
            break;
        default:
            if (place < text.size()) text[place] = static_cast<char>(random.below(256));
    }
    if (text.size() > kLongest) text.resize(kLongest);
}

constexpr std::string_view kSpice = "\"'\\/*(){}[]<>,;=:.!?-+eE019\n\r\t\0\xff\xc2\x9b\xef\xbb\xbf"sv;

/// The part before the first NUL, which a variable would have.
std::string without_nul(const std::string& text) {
    return text.substr(0, text.find('\0'));
}

}  // namespace

TEST_CASE("Damaged values of variables give valid options, the same each time") {
    Random random(1);
    std::string text = "0";
    for (int round = 0; round < kRounds; ++round) {
        damage(text, good_values(), kSpice, random);
        Variables variables;
        for (int i = 0; i < 3; ++i)
            variables[std::string(random.one_of(option_rows()).info.variable)] = without_nul(text);
        variables.erase("AOTI_DBG_CONFIG");
        variables["AOTI_DBG_" + without_nul(stretch(random.one_of(good_values()), random))] = text;
        check(variables, {});
    }
}

TEST_CASE("Damaged files give valid options, the same each time") {
    Random random(2);
    std::string json = good_files().front();
    for (int round = 0; round < kRounds; ++round) {
        damage(json, good_files(), kSpice, random);
        check({}, json);
    }
}

TEST_CASE("Files with one value exchanged for another keep their correct parts") {
    Random random(3);
    const std::vector<std::string> values = {"1e999",
                                             "-0",
                                             "1.5",
                                             "18446744073709551616",
                                             "\"\"",
                                             "\"\\u0000\"",
                                             "null",
                                             "[]",
                                             "{}",
                                             "[[]]",
                                             "[\"\"]",
                                             "\"main\"",
                                             "\"a\\nb\"",
                                             "true",
                                             "\"::2\"",
                                             "[\"names\"]",
                                             "{\"kernels\": 1}",
                                             "[{\"kernels\": \"a\", \"side\": 1}]"};
    const std::vector<std::string> keys = {"level", "filter", "kernels", "runs", "calls",
                                           "side",  "scope",  "out",     "log",  "processes",
                                           "rules", "ring",   "config",  "x\\n"};
    for (int round = 0; round < kRounds; ++round) {
        std::string json;
        for (std::size_t i = 0; i <= random.below(16); ++i)
            json += (json.empty() ? "{\"" : ",\n\"") + random.one_of(keys) + "\": " + random.one_of(values);
        check({}, json + "}");
    }
}

TEST_CASE("A file may end anywhere") {
    for (const std::string& whole : good_files())
        for (std::size_t length = 1; length <= whole.size(); ++length)
            check({}, whole.substr(0, length));
}

TEST_CASE("Random bytes are reported as no valid file") {
    Random random(4);
    int taken = 0;
    for (int round = 0; round < kRounds / 4; ++round) {
        std::string bytes;
        for (std::size_t length = 1 + random.below(64); bytes.size() < length;)
            bytes += static_cast<char>(random.below(256));
        check({}, bytes);
        if (parse_file(bytes).complaints.size() != 1) ++taken;
    }
    CHECK(taken == 0);
}

TEST_CASE("Values of a megabyte are read, and quoted in part") {
    for (const char filling : {'a', '<', '\x01'}) {
        const std::string huge(1U << 20U, filling);
        for (const OptionRow& row : option_rows())
            if (row.info.variable != "AOTI_DBG_CONFIG") check({{std::string(row.info.variable), huge}}, {});
        check({}, "{\"kernels\": \"" + huge + "\"}");
        check({}, "{\"" + huge + "\": 1}");
    }
    check({{"AOTI_DBG_" + std::string(1U << 20U, 'X'), "1"}}, {});
}

}  // namespace aoti_dbg::options_fuzz_test
