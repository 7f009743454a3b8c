// Lists of globs with exclusion.
#include "config/name_patterns.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace aoti_dbg::name_patterns_test {

TEST_CASE("An empty list matches everything, even without a name") {
    for (const std::string text : {"", " ", ",", " , ,", "!", "! , !"}) {
        CHECK(NamePatterns::globs(text).matches_everything());
        CHECK(NamePatterns::globs(text).match("anything"));
        CHECK(NamePatterns::globs(text).match("", ""));
    }
}

TEST_CASE("No pattern matches or excludes an empty name") {
    CHECK_FALSE(NamePatterns::globs("*").match("", ""));
    CHECK(NamePatterns::globs("!*").match("", ""));
    CHECK(NamePatterns::globs("*").match("", "symbol"));
}

TEST_CASE("A name full of special characters matches itself") {
    const std::string name = "void foo<int [3], (char)42>(float*)";
    CHECK(NamePatterns::globs(name).match(name));
    CHECK(NamePatterns::globs("VOID FOO<int [3], (char)42>(float*)").match(name));
    CHECK_FALSE(NamePatterns::globs("!" + name).match(name));
}

TEST_CASE("Commas within balanced brackets belong to the pattern, and others do not") {
    const NamePatterns balanced = NamePatterns::globs("gemm<float, *>(int, long),other");
    CHECK(balanced.match("gemm<float, 4>(int, long)"));
    CHECK(balanced.match("other"));
    CHECK_FALSE(balanced.match("gemm<float"));
    const NamePatterns open = NamePatterns::globs("less<*,other");
    CHECK(open.match("less<int>"));
    CHECK(open.match("other"));
}

TEST_CASE("An exclusion wins wherever it is in the list") {
    for (const std::string text : {"triton_*,!*_poi_*", "! *_POI_* , triton_*"}) {
        const NamePatterns patterns = NamePatterns::globs(text);
        CHECK(patterns.match("triton_red_fused_0"));
        CHECK_FALSE(patterns.match("triton_poi_fused_0"));
        CHECK_FALSE(patterns.match("aoti_torch_cpu_sort"));
    }
}

TEST_CASE("A list of exclusions only matches everything else") {
    const NamePatterns patterns = NamePatterns::globs("!*_poi_*,!cpp_*");
    CHECK(patterns.match("triton_red_fused_0"));
    CHECK_FALSE(patterns.match("triton_poi_fused_0"));
    CHECK_FALSE(patterns.match("cpp_fused_0"));
}

TEST_CASE("Both names of a kernel count, for exclusions too") {
    CHECK(NamePatterns::globs("aoti_torch_*").match("at::_ops::sort::call", "aoti_torch_cpu_sort"));
    CHECK(NamePatterns::globs("at::*").match("at::_ops::sort::call", "aoti_torch_cpu_sort"));
    CHECK_FALSE(NamePatterns::globs("at::*,!*cpu*").match("at::_ops::sort::call", "aoti_torch_cpu_sort"));
}

TEST_CASE("Concatenated lists decide as one") {
    NamePatterns patterns = NamePatterns::globs("triton_*");
    patterns.append(NamePatterns::globs("!*_poi_*"));
    CHECK(patterns == NamePatterns::globs("triton_*,!*_poi_*"));
    patterns.append(NamePatterns());
    CHECK(patterns == NamePatterns::globs("triton_*,!*_poi_*"));
}

}  // namespace aoti_dbg::name_patterns_test
