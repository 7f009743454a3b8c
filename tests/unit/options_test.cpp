// Options from variables: wrong values first, then what right ones mean.
#include "config/options.hpp"

#include <unistd.h>

#include <map>

#include "config/options_table.hpp"
#include "tests/support/catch.hpp"

using namespace aoti_dbg;

namespace {

using Variables = std::map<std::string, std::string>;

Environment environment_of(const Variables& variables) {
    return [variables](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
}

struct Parsed {
    Options options;
    std::vector<std::string> complaints;
};

Parsed parse(const Variables& variables) {
    Parsed parsed;
    // The environment outlives the call only; options must not point into it.
    parsed.options = parse_options(environment_of(variables), parsed.complaints);
    return parsed;
}

constexpr const char* kPytorchLevel = "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER";
constexpr const char* kFilter = "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT";

Levels names() {
    return {true, false, false};
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A wrong value gives one complaint that names it, what is allowed and what was taken") {
    const Parsed parsed = parse({{"AOTI_DBG_SCOPE", "modle"}});
    CHECK(parsed.options.scope == Scope::model);
    REQUIRE(parsed.complaints.size() == 1);
    INFO(parsed.complaints[0]);
    CHECK(contains(parsed.complaints[0], "AOTI_DBG_SCOPE=\"modle\""));
    CHECK(contains(parsed.complaints[0], "the default, model, is taken"));
    CHECK(contains(parsed.complaints[0], "allowed: model or all"));
    CHECK(contains(parsed.complaints[0], "did you mean \"model\"?"));
}

TEST_CASE("A value that is near nothing gets no suggestion") {
    const Parsed parsed = parse({{"AOTI_DBG_SCOPE", "everything"}});
    REQUIRE(parsed.complaints.size() == 1);
    CHECK_FALSE(contains(parsed.complaints[0], "did you mean"));
}

TEST_CASE("Levels that do not exist are refused") {
    const std::string text = GENERATE("4", "-1", "3.0", "0x3", "99999999999999999999999", "names;stats", ",",
                                      "3,names", "names,stat");
    const Parsed parsed = parse({{"AOTI_DBG_LEVEL", text}});
    INFO(text);
    CHECK_FALSE(parsed.options.levels.any());
    CHECK(parsed.complaints.size() == 1);
}

TEST_CASE("A wrong AOTI_DBG_LEVEL leaves PyTorch's variable standing") {
    const Parsed parsed = parse({{kPytorchLevel, "3"}, {"AOTI_DBG_LEVEL", "nmaes"}});
    CHECK(parsed.options.levels == names());
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(contains(parsed.complaints[0], "did you mean \"names\"?"));
    CHECK(contains(parsed.complaints[0], "it counts as unset"));
}

TEST_CASE("PyTorch's variable takes no list") {
    const Parsed parsed = parse({{kPytorchLevel, "names"}});
    CHECK_FALSE(parsed.options.levels.any());
    CHECK(parsed.complaints.size() == 1);
}

TEST_CASE("A ring size that is no number or too large is complained about") {
    CHECK(parse({{"AOTI_DBG_RING", "many"}}).options.ring == 4096);
    CHECK(parse({{"AOTI_DBG_RING", "-5"}}).options.ring == 4096);
    CHECK(parse({{"AOTI_DBG_RING", "-5"}}).complaints.size() == 1);
    const Parsed large = parse({{"AOTI_DBG_RING", "99999999999999999999999"}});
    CHECK(large.options.ring == 1048576);
    REQUIRE(large.complaints.size() == 1);
    CHECK(contains(large.complaints[0], "the largest, 1048576, is taken"));
}

TEST_CASE("A wrong value of any length is quoted in part only") {
    const Parsed parsed = parse({{"AOTI_DBG_SCOPE", std::string(100000, 'x')}});
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(parsed.complaints[0].size() < 300);
}

TEST_CASE("Empty and blank values count as unset") {
    const std::string blank = GENERATE("", "  ", "\t\n");
    const Parsed parsed = parse({{kPytorchLevel, blank},
                                 {"AOTI_DBG_LEVEL", blank},
                                 {kFilter, blank},
                                 {"AOTI_DBG_SCOPE", blank},
                                 {"AOTI_DBG_OUT", blank},
                                 {"AOTI_DBG_LOG", blank},
                                 {"AOTI_DBG_RING", blank}});
    CHECK(parsed.complaints.empty());
    CHECK(parsed.options.log == "stderr");
    CHECK(parsed.options.ring == 4096);
    CHECK(parsed.options.filtered_kernels.empty());
}

TEST_CASE("Without variables everything is off, and the defaults are those of the table") {
    const Parsed parsed = parse({});
    CHECK(parsed.complaints.empty());
    CHECK_FALSE(parsed.options.levels.any());
    CHECK(parsed.options.scope == Scope::model);
    CHECK(parsed.options.out == "aoti_dbg/%t-%p");
    CHECK(parsed.options.log == "stderr");
    CHECK(parsed.options.ring == 4096);
}

TEST_CASE("PyTorch's numbers are names for sets") {
    CHECK(parse({{kPytorchLevel, "1"}}).options.levels == Levels{false, false, true});
    CHECK(parse({{kPytorchLevel, "2"}}).options.levels == Levels{false, true, false});
    CHECK(parse({{kPytorchLevel, " 3 "}}).options.levels == names());
    CHECK(parse({{"AOTI_DBG_LEVEL", "Names, FILES"}}).options.levels == Levels{true, false, true});
}

TEST_CASE("AOTI_DBG_LEVEL wins over PyTorch's variable, also to switch off") {
    CHECK_FALSE(parse({{kPytorchLevel, "3"}, {"AOTI_DBG_LEVEL", "0"}}).options.levels.any());
    CHECK(parse({{kPytorchLevel, "2"}, {"AOTI_DBG_LEVEL", "3"}}).options.levels == names());
}

TEST_CASE("A filter separates at commas outside of brackets only, trims and lowers") {
    const Options options =
        parse({{kFilter, " Triton_A ,, void gemm<float, 4>(int, long) ,at::_ops::sort_stable::call,"}})
            .options;
    CHECK(options.filtered_kernels == std::vector<std::string>{"triton_a", "void gemm<float, 4>(int, long)",
                                                               "at::_ops::sort_stable::call"});
}

TEST_CASE("Brackets that do not close cannot swallow the names behind them") {
    const Options options = parse({{kFilter, "less<,b,c>d"}}).options;
    CHECK(options.filtered_kernels == std::vector<std::string>{"less<,b,c>d"});
    CHECK(parse({{kFilter, "a<b,c"}}).options.filtered_kernels == std::vector<std::string>{"a<b", "c"});
    CHECK(parse({{kFilter, "a>b,c"}}).options.filtered_kernels == std::vector<std::string>{"a>b", "c"});
}

TEST_CASE("A filter matches whole names in any case, PyTorch's or the shim's") {
    const Options options = parse({{kFilter, "At::_Ops::sort_stable::call,cpp_fused_1"}}).options;
    CHECK(passes_filter(options, "at::_ops::sort_stable::call", "aoti_torch_cpu_sort_stable"));
    CHECK(passes_filter(options, "something else", "CPP_fused_1"));
    CHECK_FALSE(passes_filter(options, "cpp_fused_10", "cpp_fused_10"));
    CHECK_FALSE(passes_filter(options, "cpp_fused_", ""));
    CHECK(passes_filter(Options{}, "anything", ""));
}

TEST_CASE("A ring is rounded up to a power of two, and 0 is none") {
    CHECK(parse({{"AOTI_DBG_RING", "0"}}).options.ring == 0);
    CHECK(parse({{"AOTI_DBG_RING", "1"}}).options.ring == 1);
    CHECK(parse({{"AOTI_DBG_RING", "4097"}}).options.ring == 8192);
    CHECK(parse({{"AOTI_DBG_RING", "1048576"}}).options.ring == 1048576);
    CHECK(parse({{"AOTI_DBG_RING", "1048575"}}).complaints.empty());
}

TEST_CASE("The log is a stream in any case of letters, and otherwise a file whose name is kept") {
    CHECK(parse({{"AOTI_DBG_LOG", "STDOUT"}}).options.log == "stdout");
    CHECK(parse({{"AOTI_DBG_LOG", "Names-%p.Log"}}).options.log == "Names-%p.Log");
}

TEST_CASE("A pattern that is not complete stays as it stands") {
    const Environment none = environment_of({});
    for (const std::string text : {"%", "a%", "%x", "%q", "%q{", "%q{OPEN", "100%z%"}) {
        CHECK(expand_pattern(text, none) == text);
    }
    CHECK(expand_pattern("", none).empty());
    CHECK(expand_pattern("a%%p", none) == "a%p");
    CHECK(expand_pattern("[%q{MISSING}]", none) == "[]");
}

TEST_CASE("Patterns take process, rank, time and variables") {
    const Environment environment = environment_of({{"LOCAL_RANK", "5"}, {"RANK", ""}, {"JOB", "a%p"}});
    CHECK(expand_pattern("x-%p", environment) == "x-" + std::to_string(getpid()));
    CHECK(expand_pattern("%r/%q{JOB}", environment) == "5/a%p");
    CHECK(expand_pattern("%r", environment_of({})) == "0");
    CHECK(expand_pattern("%r", environment_of({{"SLURM_PROCID", "7"}})) == "7");
    CHECK(expand_pattern("%t", environment).size() == std::string("20261121-093000").size());
    CHECK_FALSE(expand_pattern("%h", environment).empty());
}

TEST_CASE("The table can be asked about a value without parsing an environment") {
    CHECK(fault_of_value("AOTI_DBG_SCOPE", "all").empty());
    CHECK(contains(fault_of_value("AOTI_DBG_SCOPE", "al"), "did you mean \"all\"?"));
    CHECK_FALSE(fault_of_value("AOTI_DBG_NOTHING", "1").empty());
}
