// Windows: invalid ones first, then the contents of Python's slices. The long comparison with Python is in
// selection_fuzz_test.cpp.
#include "config/window.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace aoti_dbg::window_test {
namespace {

Window window(std::string_view text) {
    const aoti_dbg::Result<Window> parsed = parse_window(text);
    REQUIRE(parsed.ok());
    return parsed.value();
}

}  // namespace

TEST_CASE("Text that is no slice is refused") {
    const std::string text = GENERATE("", " ", "x", "1:x", "1:2:3:4", "1:2:3:", ":::", "+1", "0x1", "1.5",
                                      "1e3", "1,2", "--1", "-", "1 2", "1:2 3", "[1:2]", "\xD9\xA1");
    CAPTURE(text);
    CHECK_FALSE(parse_window(text).ok());
}

TEST_CASE("Numbers from the end are refused, with the reason") {
    const std::string text = GENERATE("-1", "-1:", ":-1", "::-1", "-0");
    CAPTURE(text);
    const aoti_dbg::Result<Window> parsed = parse_window(text);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.status().message().find("from the end") != std::string::npos);
}

TEST_CASE("A window without any number in it is refused") {
    const std::string text =
        GENERATE("5:5", "5:3", ":0", "::0", "0:0:1", "18446744073709551615",
                 "99999999999999999999:", "99999999999999999999999:99999999999999999999999");
    CAPTURE(text);
    CHECK_FALSE(parse_window(text).ok());
}

TEST_CASE("Numbers beyond 64 bits become the largest one") {
    CHECK(window("0:99999999999999999999").holds_everything());
    CHECK(window("::99999999999999999999").holds(0));
    CHECK_FALSE(window("::99999999999999999999").holds(UINT64_MAX - 1));
    CHECK(window("18446744073709551614").holds(UINT64_MAX - 1));
}

TEST_CASE("A bare number is that one alone") {
    CHECK(window("0") == Window{0, 1, 1});
    CHECK(window(" 7 ") == Window{7, 8, 1});
    CHECK_FALSE(window("0").holds_everything());
}

TEST_CASE("A slice has its start, not its end, and every step from its start on") {
    CHECK(window("10:20") == Window{10, 20, 1});
    CHECK(window("10:").holds(10));
    CHECK_FALSE(window("10:").holds(9));
    CHECK_FALSE(window(":20").holds(20));
    CHECK(window("::1000").holds(2000));
    CHECK_FALSE(window("::1000").holds(2001));
    CHECK(window("3:20:5").holds(13));
    CHECK_FALSE(window("3:20:5").holds(15));
    CHECK(window(" 1 : 2 : 3 ") == Window{1, 2, 3});
}

TEST_CASE("A slice without numbers has everything") {
    CHECK(window(":").holds_everything());
    CHECK(window("::").holds_everything());
    CHECK(window("0::1").holds_everything());
}

}  // namespace aoti_dbg::window_test
