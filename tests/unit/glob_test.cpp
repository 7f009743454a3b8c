// Globs: harmful patterns first, then what each part of a pattern matches.
#include "base/glob.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace aoti_dbg::glob_test {

TEST_CASE("A pattern that would keep a careless matcher busy forever ends") {
    std::string stars;
    for (int i = 0; i < 200; ++i)
        stars += "*a";
    CHECK_FALSE(glob_matches(stars + "b", std::string(2000, 'a')));
    CHECK_FALSE(glob_matches("*" + std::string(1000, '['), std::string(4000, '[') + "x"));
    CHECK(glob_matches(std::string(100000, '*'), std::string(100000, 'x')));
}

TEST_CASE("Only an empty text matches the empty pattern") {
    CHECK(glob_matches("", ""));
    CHECK(glob_matches("*", ""));
    CHECK(glob_matches("***", ""));
    CHECK_FALSE(glob_matches("?", ""));
    CHECK_FALSE(glob_matches("[!a]", ""));
    CHECK_FALSE(glob_matches("", "a"));
}

TEST_CASE("A bracket without its other half is an ordinary character") {
    CHECK(glob_matches("a[b", "a[b"));
    CHECK(glob_matches("*[", "x["));
    CHECK(glob_matches("[]", "[]"));
    CHECK(glob_matches("[!]", "[!]"));
    CHECK(glob_matches("a]", "a]"));
    CHECK(glob_matches("[a][", "a["));
    CHECK_FALSE(glob_matches("[ab", "a"));
}

TEST_CASE("A closing bracket that comes first in a set is a member of it") {
    CHECK(glob_matches("[]a]", "]"));
    CHECK(glob_matches("[]a]", "a"));
    CHECK_FALSE(glob_matches("[!]a]", "]"));
    CHECK(glob_matches("[!]a]", "b"));
}

TEST_CASE("A hyphen at the start or end of a set is a member of it") {
    CHECK(glob_matches("[a-]", "-"));
    CHECK(glob_matches("[-a]", "-"));
    CHECK_FALSE(glob_matches("[a-c]", "-"));
    CHECK_FALSE(glob_matches("[c-a]", "b"));
}

TEST_CASE("Special characters are ordinary within a set, so a set can match them") {
    CHECK(glob_matches("a[*]b", "a*b"));
    CHECK_FALSE(glob_matches("a[*]b", "axb"));
    CHECK(glob_matches("a[?]b", "a?b"));
    CHECK(glob_matches("a[[]b", "a[b"));
}

TEST_CASE("Stars match any text, even none, and give back what the rest needs") {
    CHECK(glob_matches("*_poi_*", "triton_poi_fused_0"));
    CHECK(glob_matches("a*", "a"));
    CHECK(glob_matches("*ab", "aab"));
    CHECK(glob_matches("a*b*c", "abbbcbc"));
    CHECK_FALSE(glob_matches("a*b*c", "abbbcb"));
    CHECK_FALSE(glob_matches("*_poi_*", "triton_red_fused_0"));
}

TEST_CASE("A pattern must match the whole name") {
    CHECK_FALSE(glob_matches("triton", "triton_0"));
    CHECK_FALSE(glob_matches("riton_0", "triton_0"));
    CHECK(glob_matches("triton_?", "triton_0"));
    CHECK_FALSE(glob_matches("triton_?", "triton_10"));
}

TEST_CASE("Case does not matter, not even in sets and ranges, and bytes beyond ASCII match exactly") {
    CHECK(glob_matches("TRITON_*", "triton_0"));
    CHECK(glob_matches("[a-c]", "B"));
    CHECK(glob_matches("[A-C]", "b"));
    CHECK_FALSE(glob_matches("[!A-C]", "b"));
    CHECK(glob_matches("\xC3\xA4", "\xC3\xA4"));
    CHECK(glob_matches("[\x80-\xFF]", "\xC3"));
}

}  // namespace aoti_dbg::glob_test
