// The parser of JSON lines keeps the keys of earlier lines, reads beyond the end of tokens and has no check
// for the end of the line. So these tests reuse one parser for lines of all kinds.
#include "serializer/json_line.hpp"

#include <string>
#include <unordered_map>
#include <vector>

#include "serializer/event_fields.hpp"
#include "serializer/number_map.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::json_line_test {
namespace {

using Value = JsonLine::Value;

void append_dump(Value value, std::string& out) {
    out.append("(").append(value.key()).append("|").append(value.text()).append("|");
    out += std::to_string(value.tag());
    for (Value inner = value.first(); inner; inner = inner.next())
        append_dump(inner, out);
    out += ')';
}

/// Returns what a parser reads, or "not JSON".
std::string dump(JsonLine& json, const std::string& line) {
    std::string out = "not JSON";
    if (!json.parse(line)) return out;
    out.clear();
    append_dump(json.root(), out);
    return out;
}

const std::vector<std::string>& lines() {
    static const std::vector<std::string> all = {
        R"({"event":"call","run":12,"mean":-0.25,"std":1e-05,"zeros":3,"sizes":[4,128],"ok":true})",
        R"({"event":"call","run":1234567890123456789,"min":-1.2486578,"max":3,"why":null})",
        R"({"abcdefghijkl":1,"abcdefghijklm":2,"abcdefghijklmn":3,"":4})",
        R"( { "a" : [ 1 , { } , [ ] ] , "b" : "x" } )",
        R"({"text":"a \"quoted\" text\n with \u00e9 and \ud83d\ude00, longer than a block","k\t":[false]})",
        R"([[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]])",
        R"({"long":123456789012345678901234567890123.123456789012345678901234567890e+12})",
    };
    return all;
}

TEST_CASE("A parser reads the same whatever it has read before") {
    JsonLine reused;
    Random random(1);
    int good = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string line = lines()[random.below(lines().size())];
        for (std::size_t changes = random.below(3); changes > 0 && !line.empty(); --changes) {
            static constexpr std::string_view kSpice = "{}[]:,\"\\ \t0129.-+eEntfu\0\x1f\xff";
            const std::size_t place = random.below(line.size());
            if (random.below(2) == 0) {
                line[place] = kSpice[random.below(kSpice.size())];
            } else {
                line.resize(place);
            }
        }
        JsonLine fresh;
        const std::string expected = dump(fresh, line);
        if (dump(reused, line) != expected) FAIL(line);
        good += expected != "not JSON" ? 1 : 0;
    }
    CHECK(good > 5000);
    CHECK(good < 15000);
}

TEST_CASE("A line that is cut anywhere is not JSON") {
    JsonLine json;
    for (std::string line : lines()) {
        REQUIRE(json.parse(line));
        CHECK(json.line() == line);
        while (line.back() == ' ')
            line.pop_back();
        for (std::size_t size = 0; size < line.size(); ++size) {
            if (json.parse(std::string_view(line).substr(0, size))) FAIL(line.substr(0, size));
            CHECK(!json.root());
        }
    }
}

TEST_CASE("Zeros in place of a key are not JSON") {
    JsonLine json;
    CHECK_FALSE(json.parse("{" + std::string(16, '\0') + "1}"));
}

TEST_CASE("Values nest 16 deep and no deeper") {
    JsonLine json;
    const auto nested = [](std::size_t depth, const char* inner) {
        return std::string(depth, '[') + inner + std::string(depth, ']');
    };
    CHECK(json.parse(nested(16, "1")));
    CHECK(json.parse(nested(17, "")));
    CHECK_FALSE(json.parse(nested(17, "1")));
    CHECK_FALSE(json.parse(nested(18, "")));
}

TEST_CASE("Integers are read exactly or not at all") {
    JsonLine json;
    std::uint64_t expected = 0;
    for (int digits = 1; digits <= 20; ++digits) {
        expected = expected * 10 + static_cast<std::uint64_t>(digits % 10);
        std::uint64_t number = 0;
        REQUIRE(json.parse(std::to_string(expected)));
        CHECK(read_integer(json.root(), number));
        CHECK(number == expected);
    }
    for (const char* text : {"18446744073709551616", "1234567.5", "12345678e1", "-1", "\"12345678\""}) {
        std::uint64_t number = 7;
        REQUIRE(json.parse(text));
        CHECK_FALSE(read_integer(json.root(), number));
        CHECK(number == 7);
    }
}

TEST_CASE("A number map finds what it was given, whatever the numbers") {
    for (const std::uint64_t factor : {1ULL, 1ULL << 32U, 0x9E3779B97F4A7C15ULL}) {
        NumberMap<std::uint64_t> map;
        std::unordered_map<std::uint64_t, std::uint64_t> expected;
        Random random(3);
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const std::uint64_t number = random.below(3000) * factor;
            map.add(number) = i;
            expected[number] = i;
        }
        CHECK(map.size() == expected.size());
        for (std::uint64_t i = 0; i < 3000; ++i) {
            const auto known = expected.find(i * factor);
            const std::uint64_t* const found = map.find(i * factor);
            if ((found == nullptr) != (known == expected.end())) FAIL(i);
            if (found != nullptr && *found != known->second) FAIL(i);
        }
        map.clear();
        CHECK(map.find(0) == nullptr);
    }
}

}  // namespace
}  // namespace aoti_dbg::json_line_test
