// Patterns in names of folders and files.
#include "config/pattern.hpp"

#include <unistd.h>

#include <map>

#include "tests/support/catch.hpp"

namespace aoti_dbg::pattern_test {
namespace {

Environment environment_of(const std::map<std::string, std::string>& variables) {
    return [variables](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
}

}  // namespace

TEST_CASE("An incomplete pattern stays as it is") {
    const Environment none = environment_of({});
    for (const std::string text : {"%", "a%", "%x", "%q", "%q{", "%q{OPEN", "100%z%"}) {
        CHECK(expand_pattern(text, none) == text);
    }
    CHECK(expand_pattern("", none).empty());
    CHECK(expand_pattern("a%%p", none) == "a%p");
    CHECK(expand_pattern("[%q{MISSING}]", none) == "[]");
}

TEST_CASE("An unknown, trailing or unclosed pattern is an error that says what to write instead") {
    CHECK(pattern_fault("out-%z") == "unknown pattern \"%z\" (write %% for a percent sign)");
    CHECK(pattern_fault("100%/x") == "unknown pattern \"%/\" (write %% for a percent sign)");
    CHECK(pattern_fault("%\xc3\xa9-") == "unknown pattern \"%\xc3\xa9\" (write %% for a percent sign)");
    CHECK(pattern_fault("%\n") == "unknown pattern \"%\\n\" (write %% for a percent sign)");
    CHECK(pattern_fault("%p%") == "it ends in a single % (write %% for a percent sign)");
    CHECK(pattern_fault("%%%") == "it ends in a single % (write %% for a percent sign)");
    CHECK(pattern_fault("a%q{HOME/b") == "%q{ has no closing brace");
    CHECK(pattern_fault("a%q{}") == "%q{} names no variable");
    CHECK(pattern_fault("%qx") == "unknown pattern \"%q\" (write %% for a percent sign)");
}

TEST_CASE("Every documented pattern is valid, and so is a name without any") {
    for (const std::string valid :
         {"", "plain", "%p", "%h-%r/%t", "%q{A}%q{B}", "100%%", "%%%%p", "%q{%z}"}) {
        CAPTURE(valid);
        CHECK(pattern_fault(valid).empty());
    }
    CHECK(pattern_fault(as_pattern("100%/%z")).empty());
}

TEST_CASE("Patterns accept process, rank, time and variables") {
    const Environment environment = environment_of({{"LOCAL_RANK", "5"}, {"RANK", ""}, {"JOB", "a%p"}});
    CHECK(expand_pattern("x-%p", environment) == "x-" + std::to_string(getpid()));
    CHECK(expand_pattern("%r/%q{JOB}", environment) == "5/a%p");
    CHECK(expand_pattern("%r", environment_of({})) == "0");
    CHECK(expand_pattern("out-%r", environment_of({{"RANK", "../../up"}})) == "out-.._.._up");
    CHECK(expand_pattern("%r", environment_of({{"SLURM_PROCID", "7"}})) == "7");
    CHECK(expand_pattern("%t", environment).size() == std::string("20261121-093000").size());
    CHECK_FALSE(expand_pattern("%h", environment).empty());
    CHECK(expand_pattern("%p-%t", environment, {42, 0}).substr(0, 4) == "42-1");
}

TEST_CASE("A text converted to a pattern expands to itself") {
    const std::string text = "100%/%p%%";
    CHECK(expand_pattern(as_pattern(text), environment_of({})) == text);
}

TEST_CASE("A relative pattern keeps its place when the program changes its directory") {
    const Environment environment = environment_of({{"JOB", "/jobs/7"}, {"NAME", "x"}});
    CHECK(anchored_pattern("x/%p", "/here", environment) == "/here/x/%p");
    CHECK(anchored_pattern("x", "/", environment) == "/x");
    CHECK(anchored_pattern("x/%p", "/100%here", environment) == "/100%%here/x/%p");
    CHECK(anchored_pattern("x/%p", "", environment) == "x/%p");
    CHECK(anchored_pattern("/abs/%p", "/here", environment) == "/abs/%p");
    CHECK(anchored_pattern("%q{JOB}/x", "/here", environment) == "%q{JOB}/x");
    CHECK(anchored_pattern("%q{NAME}/x", "/here", environment) == "/here/%q{NAME}/x");
}

}  // namespace aoti_dbg::pattern_test
