// Codes of findings, reports and errors: each is unique and has its texts, and every kind of finding has one.
#include "serializer/codes.hpp"

#include <set>

#include "base/error_code.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::codes_test {

TEST_CASE("Codes are unique, and each has a title, a meaning, an example and a remedy") {
    std::set<std::uint32_t> numbers;
    for (const CodeInfo& code : all_codes()) {
        CAPTURE(code.number);
        CHECK(numbers.insert(code.number).second);
        CHECK(code.number == *numbers.rbegin());
        CHECK_FALSE(code.title.empty());
        CHECK(code.meaning.ends_with('.'));
        CHECK_FALSE(code.example.empty());
        CHECK(code.remedy.ends_with('.'));
    }
}

TEST_CASE("A code is found with or without its letters, and nothing else is") {
    for (const char* text : {"AD1203", "ad1203", "1203"}) {
        REQUIRE(find_code(text) != nullptr);
        CHECK(find_code(text)->number == 1203);
    }
    for (const char* text : {"", "AD", "AD12", "AD1203x", "12.03", "-1203", "AD 1203", "AD99999999999"})
        CHECK(find_code(text) == nullptr);
}

TEST_CASE("The table explains the code of every error") {
    constexpr unsigned kErrors[] = {
#define AOTI_DBG_NUMBER(name, number) (number),
        AOTI_DBG_ERROR_CODES(AOTI_DBG_NUMBER)
#undef AOTI_DBG_NUMBER
    };
    std::set<unsigned> numbers;
    for (const unsigned number : kErrors) {
        CAPTURE(number);
        CHECK(numbers.insert(number).second);
        CHECK(find_code(code_text(number)) != nullptr);
    }
}

TEST_CASE("Every kind of finding has a code that the table explains") {
    Finding finding;
    for (const Finding::Kind kind :
         {Finding::Kind::nan, Finding::Kind::inf, Finding::Kind::input_nan, Finding::Kind::weight_nan}) {
        finding.kind = kind;
        CHECK(find_code(code_text(code_of(finding))) != nullptr);
    }
    finding.kind = Finding::Kind::argument;
    for (const char* check :
         {"dtype", "device", "size", "rank", "stride", "memory", "alignment", "storage", "result",
          "constants", "update of the constants", "number of inputs", "order"}) {
        CAPTURE(check);
        finding.check = check;
        CHECK(find_code(code_text(code_of(finding))) != nullptr);
    }
    finding.check = "a check of another release";
    CHECK(code_of(finding) == 0);
}

}  // namespace aoti_dbg::codes_test
