// Entries for known findings: wrong ones first, then what correct ones match.
#include "config/suppressions.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::suppressions_test {
namespace {

Suppressions list(const std::string& text) {
    Suppressions suppressions;
    const Status added = suppressions.add_list(text);
    CAPTURE(text, added.message());
    REQUIRE(added.ok());
    return suppressions;
}

}  // namespace

TEST_CASE("An entry without a kernel or of an unknown kind is refused, with its whole list") {
    const std::string text = GENERATE("a,zero in b", "nan in", "nan in - buf0", "a, in b");
    Suppressions suppressions;
    CAPTURE(text);
    CHECK_FALSE(suppressions.add_list(text).ok());
    CHECK(suppressions.empty());
}

TEST_CASE("Wrong lines of a file are left out and reported by number") {
    Suppressions suppressions;
    const std::vector<std::string> faults = suppressions.add_lines("\r\nnan in\n\na\n# zero in b\nzero in c");
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].rfind("line 2: ", 0) == 0);
    CHECK(faults[1].rfind("line 6: ", 0) == 0);
    CHECK(suppressions.match("nan", "a", {}, "x"));
    CHECK_FALSE(suppressions.match("inf", "c", {}, "x"));
}

TEST_CASE("An entry of one kind matches no other, and one without a kind matches all") {
    CHECK(list("ARGS in a - x").match("args", "a", {}, "x"));
    CHECK_FALSE(list("args in a").match("nan", "a", {}, "x"));
    CHECK_FALSE(list("nan in a").match("args", "a", {}, "x"));
    CHECK(list("a").match("args", "a", {}, "x"));
}

TEST_CASE("No entry matches a kernel without a name") {
    CHECK_FALSE(list("*").match("nan", {}, {}, "buf0"));
    CHECK_FALSE(list("* - *").match("nan", "k", {}, {}));
}

TEST_CASE("An entry matches its kinds, kernels and arguments") {
    const Suppressions entries = list("nan in triton_* - buf?, inf in aten::mul, both");
    CHECK(entries.match("nan", "Triton_poi_0", {}, "buf4"));
    CHECK(entries.match("nan", "x", "triton_poi_0", "buf4"));
    CHECK_FALSE(entries.match("inf", "triton_poi_0", {}, "buf4"));
    CHECK_FALSE(entries.match("nan", "triton_poi_0", {}, "buf41"));
    CHECK(entries.match("inf", "aten::mul", {}, "anything"));
    CHECK_FALSE(entries.match("nan", "aten::mul", {}, "anything"));
    CHECK(entries.match("nan", "both", {}, "x"));
    CHECK(entries.match("inf", "both", {}, "x"));
}

TEST_CASE("The entry that is printed for a finding matches it, whatever its kernel is called") {
    const std::string kernel = GENERATE("triton_poi_fused_0", "at::_ops::sort_stable::call",
                                        "void gemm<float, 4>(int, long)", "f[a]*?", "lambda(int)#1");
    const std::string entry = suppression_for("nan", kernel, "buf4");
    CAPTURE(entry);
    CHECK(list(entry).match("nan", kernel, {}, "buf4"));
    CHECK_FALSE(list(entry).match("nan", kernel, {}, "buf5"));
    CHECK_FALSE(list(entry).match("inf", kernel, {}, "buf4"));
    Suppressions from_file;
    CHECK(from_file.add_lines(entry + "  # known").empty());
    CHECK(from_file.match("nan", kernel, {}, "buf4"));
    CHECK(from_file.add_lines("a - buf1, b - buf2").empty());
    CHECK(from_file.match("nan", "a", {}, "buf1"));
    CHECK(from_file.match("nan", "b", {}, "buf2"));
}

TEST_CASE("An entry with a slash is a file, and a relative one gets a folder in front") {
    CHECK(list("a,./known.txt,/etc/known").files() == std::vector<std::string>{"./known.txt", "/etc/known"});
    CHECK(list("a,./known.txt").plain_patterns() == std::vector<std::string>{"a"});
    CHECK(anchored_suppressions("g<a, b>, x/known.txt , /etc/known", "/home") ==
          "g<a, b>,/home/x/known.txt,/etc/known");
}

}  // namespace aoti_dbg::suppressions_test
