// Options from variables: wrong values first, then the meaning of correct ones.
#include "config/options.hpp"

#include "config/options_table.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/options_fixture.hpp"

namespace aoti_dbg::options_test {
namespace {

Levels names() {
    return {true, false, false};
}

}  // namespace

TEST_CASE("A wrong value gives one complaint with its name, the allowed values and the one used") {
    const Parsed parsed = parse({{"AOTI_DBG_SCOPE", "modle"}});
    CHECK(parsed.options.scope == Scope::model);
    REQUIRE(parsed.complaints.size() == 1);
    INFO(parsed.complaints[0]);
    CHECK(contains(parsed.complaints[0], "AOTI_DBG_SCOPE: expected model or all, got \"modle\"."));
    CHECK(contains(parsed.complaints[0], "Using the default, model."));
    CHECK(contains(parsed.complaints[0], "Did you mean \"model\"?"));
}

TEST_CASE("A value that resembles no allowed one gets no suggestion") {
    const Parsed parsed = parse({{"AOTI_DBG_SCOPE", "everything"}});
    REQUIRE(parsed.complaints.size() == 1);
    CHECK_FALSE(contains(parsed.complaints[0], "Did you mean"));
}

TEST_CASE("Two swapped letters count as one slip, and half of a word is another word") {
    CHECK(contains(parse({{"AOTI_DBG_SIDE", "boht"}}).complaints.at(0), "Did you mean \"both\"?"));
    CHECK_FALSE(contains(parse({{"AOTI_DBG_SIDE", "bush"}}).complaints.at(0), "Did you mean"));
    CHECK_FALSE(
        contains(parse_file(R"({"rules": [{"kernels": "a", "ring": 1}]})").complaints.at(0), "Did you mean"));
}

TEST_CASE("Levels that do not exist are refused") {
    const std::string text = GENERATE("4", "-1", "3.0", "0x3", "99999999999999999999999", "names;stats", ",",
                                      "3,names", "names,stat");
    const Parsed parsed = parse({{"AOTI_DBG_LEVEL", text}});
    INFO(text);
    CHECK_FALSE(parsed.options.levels.any());
    CHECK(parsed.complaints.size() == 1);
}

TEST_CASE("A wrong AOTI_DBG_LEVEL leaves PyTorch's variable in effect") {
    const Parsed parsed = parse({{kPytorchLevel, "3"}, {"AOTI_DBG_LEVEL", "nmaes"}});
    CHECK(parsed.options.levels == names());
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(contains(parsed.complaints[0], "Did you mean \"names\"?"));
    CHECK(contains(parsed.complaints[0], "The value is ignored."));
}

TEST_CASE("PyTorch's variable accepts no list") {
    const Parsed parsed = parse({{kPytorchLevel, "names"}});
    CHECK_FALSE(parsed.options.levels.any());
    CHECK(parsed.complaints.size() == 1);
}

TEST_CASE("An invalid or too large ring size gets a complaint") {
    CHECK(parse({{"AOTI_DBG_RING", "many"}}).options.ring == 4096);
    CHECK(parse({{"AOTI_DBG_RING", "-5"}}).options.ring == 4096);
    CHECK(parse({{"AOTI_DBG_RING", "-5"}}).complaints.size() == 1);
    const Parsed large = parse({{"AOTI_DBG_RING", "99999999999999999999999"}});
    CHECK(large.options.ring == 1048576);
    REQUIRE(large.complaints.size() == 1);
    CHECK(contains(large.complaints[0], "Using the maximum, 1048576."));
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
                                 {"AOTI_DBG_RING", blank},
                                 {"AOTI_DBG_KERNELS", blank},
                                 {"AOTI_DBG_RUNS", blank},
                                 {"AOTI_DBG_CALLS", blank},
                                 {"AOTI_DBG_SIDE", blank},
                                 {"AOTI_DBG_CONFIG", blank},
                                 {"AOTI_DBG_CHECK", blank},
                                 {"AOTI_DBG_SUPPRESS", blank},
                                 {"AOTI_DBG_SYNC", blank},
                                 {"AOTI_DBG_PROCESSES", blank}});
    CHECK(parsed.complaints.empty());
    CHECK(parsed.options.log == "stderr");
    CHECK(parsed.options.ring == 4096);
    CHECK(parsed.options == parse({}).options);
}

TEST_CASE("Without variables everything is off, and the defaults are those of the table") {
    const Parsed parsed = parse({});
    CHECK(parsed.complaints.empty());
    CHECK_FALSE(parsed.options.levels.any());
    CHECK(parsed.options.scope == Scope::model);
    CHECK(parsed.options.out == "aoti_dbg/%t-%p");
    CHECK(parsed.options.log == "stderr");
    CHECK(parsed.options.ring == 4096);
    CHECK(parsed.options.kernels.matches_everything());
    CHECK(parsed.options.runs.holds_everything());
    CHECK(parsed.options.calls.holds_everything());
    CHECK(parsed.options.side == Side::both);
    CHECK(parsed.options.processes == Processes{});
    CHECK_FALSE(parsed.options.check);
    CHECK(parsed.options.on_finding == OnFinding::report);
    CHECK(parsed.options.suppress.empty());
    CHECK(parsed.options.format == OutputFormat::text);
    CHECK(parsed.options.reuse);
    CHECK(parsed.options.stats == StatsDetail::printed);
    CHECK(parsed.options.on_full == OnFull::wait);
    CHECK_FALSE(parsed.options.sync);
    CHECK_FALSE(parsed.options.triage);
    CHECK(parsed.options.evidence);
    CHECK(parsed.options.max_bytes == 20'000'000'000U);
    CHECK(parsed.options.max_files == 1'000'000U);
    CHECK(parsed.options.keep_last == 0);
    CHECK(parsed.options.save_on == SaveOn::always);
    CHECK(parsed.options.pt_layout == PtLayout::runs);
    CHECK_FALSE(parsed.options.portable_names);
    CHECK(parsed.options.writers == 0);
}

TEST_CASE("Invalid bounds on saved tensors get a complaint") {
    const auto refused = [](const std::string& variable, const std::string& text) {
        CAPTURE(variable, text);
        const Parsed parsed = parse({{variable, text}});
        CHECK(parsed.complaints.size() == 1);
        CHECK(parsed.options == parse({}).options);
    };
    for (const char* text : {"GB", "-1", "20 gigs", "1..5G", "0x10", "1e9"})
        refused("AOTI_DBG_MAX_BYTES", text);
    for (const char* text : {"0", "-1", "many", "1.5"})
        refused("AOTI_DBG_MAX_FILES", text);
    for (const char* text : {"last", "last:", "last:0", "last:x", "first:2", "3"})
        refused("AOTI_DBG_KEEP", text);
    for (const char* text : {"0", "-2", "few"})
        refused("AOTI_DBG_WRITERS", text);
    const Parsed many = parse({{"AOTI_DBG_WRITERS", "1000"}});
    CHECK(many.options.writers == 64);
    CHECK(many.complaints.size() == 1);
}

TEST_CASE("Bounds on saved tensors are accepted in the usual units") {
    const auto bytes_of = [](const std::string& text) {
        return parse({{"AOTI_DBG_MAX_BYTES", text}}).options.max_bytes;
    };
    CHECK(bytes_of("1.5 gib") == 1'610'612'736U);
    CHECK(bytes_of("2T") == 2'000'000'000'000U);
    CHECK(bytes_of("0") == 0);
    CHECK(bytes_of("None") == UINT64_MAX);
    CHECK(parse({{"AOTI_DBG_KEEP", "last: 20"}}).options.keep_last == 20);
    CHECK(parse({{"AOTI_DBG_KEEP", "LAST:99999999999"}}).options.keep_last == UINT32_MAX);
    CHECK(parse({{"AOTI_TORCH_SAVE_DIR", "/data/x"}}).options.torch_save_dir == "/data/x");
}

TEST_CASE("The checks are a list, and none must be alone") {
    const auto check_of = [](const std::string& text) { return parse({{"AOTI_DBG_CHECK", text}}); };
    CHECK(check_of("NaN").options.check == Check{true, false});
    CHECK(check_of("inf, nan").options.check == Check{true, true});
    CHECK(check_of("inf, Args").options.check == Check{false, true, true});
    CHECK(check_of("off").options.check == Check{});
    const std::string wrong =
        GENERATE("nan,none", "args,none", "races,none", "arg", "race", "zero", ",", "1", "nan;inf");
    const Parsed parsed = check_of(wrong);
    CHECK_FALSE(parsed.options.check);
    CHECK(parsed.complaints.size() == 1);
}

TEST_CASE("With checks alone, `aoti-dbg run` prints no names") {
    CHECK(parse({{kDefaultLevelVariable, "3"}}).options.levels == names());
    CHECK(parse({{kDefaultLevelVariable, "3"}, {"AOTI_DBG_CHECK", "none"}}).options.levels == names());
    CHECK_FALSE(parse({{kDefaultLevelVariable, "3"}, {"AOTI_DBG_CHECK", "nan"}}).options.levels.any());
    CHECK(parse({{"AOTI_DBG_LEVEL", "2"}, {"AOTI_DBG_CHECK", "nan"}}).options.levels.stats);
}

TEST_CASE("A switch accepts on and off, 1 and 0, and nothing else") {
    CHECK_FALSE(parse({{"AOTI_DBG_REUSE", "Off"}}).options.reuse);
    CHECK(parse({{"AOTI_DBG_STATS", "FULL"}}).options.stats == StatsDetail::full);
    const Options bits = parse({{"AOTI_DBG_RECORD", "bits"}}).options;
    CHECK((bits.levels.stats && !bits.levels.files && bits.level_given));
    CHECK((bits.stats == StatsDetail::hashes && bits.format == OutputFormat::none));
    CHECK(parse({{"AOTI_DBG_RECORD", "full"}, {"AOTI_DBG_STATS", "indices"}}).options.stats ==
          StatsDetail::indices);
    CHECK(parse({{"AOTI_DBG_RECORD", "full"}}).options.levels.files);
    CHECK(parse({{"AOTI_DBG_RECORD", "files"}}).complaints.size() == 1);
    const Options captured = parse({{"AOTI_DBG_CAPTURE", "triton_*"}, {"AOTI_DBG_LEVEL", "3"}}).options;
    CHECK((captured.captures && captured.levels.files && captured.levels.names));
    CHECK_FALSE(captured.kernels.match("extern_kernels.mm", ""));
    const Options one = parse({{"AOTI_DBG_CAPTURE", "add_*,triton_*@3:41"}}).options;
    CHECK((one.kernels.match("triton_0", "") && one.kernels.match("add_0", "")));
    CHECK((one.runs.holds(3) && !one.runs.holds(4)));
    CHECK((one.calls.holds(41) && !one.calls.holds(40)));
    for (const char* wrong : {"triton_*@", "triton_*@3", "triton_*@3:", "triton_*@:4", "triton_*@3:4:5",
                              "@3:4", "add_*@1:2,triton_*@3:4"})
        CHECK_FALSE(parse({{"AOTI_DBG_CAPTURE", wrong}}).options.captures);
    CHECK(parse({{"AOTI_DBG_CAPTURE", "@3:4"}}).options.runs.holds_everything());
    CHECK(parse({{"AOTI_DBG_SYNC", "1"}}).options.sync);
    CHECK_FALSE(parse({{"AOTI_DBG_EVIDENCE", "0"}}).options.evidence);
    CHECK(contains(parse({{"AOTI_DBG_REUSE", "2"}}).complaints.at(0), "Using the default, on."));
    CHECK(contains(parse({{"AOTI_DBG_REUSE", "of"}}).complaints.at(0), "Did you mean"));
}

TEST_CASE("PyTorch's numbers are names for sets") {
    CHECK(parse({{kPytorchLevel, "1"}}).options.levels == Levels{false, false, true});
    CHECK(parse({{kPytorchLevel, "2"}}).options.levels == Levels{false, true, false});
    CHECK(parse({{kPytorchLevel, " 3 "}}).options.levels == names());
    CHECK(parse({{"AOTI_DBG_LEVEL", "Names, FILES"}}).options.levels == Levels{true, false, true});
}

TEST_CASE("AOTI_DBG_LEVEL wins over PyTorch's variable, even to turn everything off") {
    CHECK_FALSE(parse({{kPytorchLevel, "3"}, {"AOTI_DBG_LEVEL", "0"}}).options.levels.any());
    CHECK(parse({{kPytorchLevel, "2"}, {"AOTI_DBG_LEVEL", "3"}}).options.levels == names());
}

TEST_CASE("A filter separates at commas outside of brackets only, and trims") {
    const Options options =
        parse({{kFilter, " Triton_A ,, void gemm<float, 4>(int, long) ,at::_ops::sort_stable::call,"}})
            .options;
    for (const std::string name :
         {"triton_a", "void gemm<float, 4>(int, long)", "at::_ops::sort_stable::call"})
        CHECK(options.kernels.match(name));
    for (const std::string name : {"void gemm<float", "4>(int", "", " "})
        CHECK_FALSE(options.kernels.match(name));
}

TEST_CASE("Unclosed brackets cannot swallow the names behind them") {
    CHECK(parse({{kFilter, "less<,b,c>d"}}).options.kernels.match("less<,b,c>d"));
    for (const std::string text : {"a<b,c", "a>b,c"}) {
        const NamePatterns kernels = parse({{kFilter, text}}).options.kernels;
        CHECK(kernels.match(text.substr(0, 3)));
        CHECK(kernels.match("c"));
        CHECK_FALSE(kernels.match(text));
    }
}

TEST_CASE("Without variables, every option has the default of the table") {
    for (const OptionInfo& info : option_table()) {
        if (info.standard.empty()) continue;
        CAPTURE(info.variable);
        Parsed parsed = parse({{std::string(info.variable), std::string(info.standard)}});
        parsed.options.level_given = parsed.options.keep_given = parsed.options.save_on_given = false;
        CHECK(parsed.complaints.empty());
        CHECK(parsed.options == Options{});
    }
}

TEST_CASE("A filter matches whole names in any case, PyTorch's or the shim's, without patterns") {
    const NamePatterns kernels =
        parse({{kFilter, "At::_Ops::sort_stable::call,cpp_fused_1,!cpp_fused_2,*"}}).options.kernels;
    CHECK(kernels.match("at::_ops::sort_stable::call", "aoti_torch_cpu_sort_stable"));
    CHECK(kernels.match("something else", "CPP_fused_1"));
    CHECK_FALSE(kernels.match("cpp_fused_10", "cpp_fused_10"));
    CHECK_FALSE(kernels.match("cpp_fused_", ""));
    CHECK(kernels.match("!cpp_fused_2"));
    CHECK(Options{}.kernels.match("anything", ""));
}

TEST_CASE("AOTI_DBG_KERNELS wins over PyTorch's filter, and a wrong one leaves it in effect") {
    const NamePatterns both = parse({{kFilter, "a"}, {"AOTI_DBG_KERNELS", "b*"}}).options.kernels;
    CHECK(both.match("bc"));
    CHECK_FALSE(both.match("a"));
    const Parsed wrong = parse({{kFilter, "a"}, {"AOTI_DBG_KERNELS", ", !"}});
    CHECK(wrong.options.kernels == NamePatterns::exact("a"));
    REQUIRE(wrong.complaints.size() == 1);
    CHECK(contains(wrong.complaints[0], ": it has no pattern."));
}

TEST_CASE("A wrong window gives the reason, and everything stays in the window") {
    const auto reason_for = [](const std::string& text) {
        const Parsed parsed = parse({{"AOTI_DBG_RUNS", text}});
        CHECK(parsed.options.runs.holds_everything());
        REQUIRE(parsed.complaints.size() == 1);
        return parsed.complaints[0];
    };
    CHECK(contains(reason_for("5:3"), "the slice is empty"));
    CHECK(contains(reason_for("-3:"), "a slice cannot count from the end"));
    CHECK(contains(reason_for("::0"), "the step is 0"));
    CHECK(contains(reason_for("ten"), "not a number or a slice"));
}

TEST_CASE("The words main and all select processes, alone and in any case") {
    CHECK(parse({{"AOTI_DBG_PROCESSES", "MAIN"}}).options.processes == Processes{true, {}});
    CHECK(parse({{"AOTI_DBG_PROCESSES", "All"}}).options.processes == Processes{});
    CHECK(parse({{"AOTI_DBG_PROCESSES", "python*,!*worker*"}}).options.processes ==
          Processes{false, NamePatterns::globs("python*,!*worker*")});
    const std::string mixed =
        GENERATE("main,python*", "python*,ALL", "!main", "! all", "main,all", "main,main");
    const Parsed parsed = parse({{"AOTI_DBG_PROCESSES", mixed}});
    CHECK(parsed.options.processes == Processes{});
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(contains(parsed.complaints[0], "main and all cannot be combined with patterns"));
}

TEST_CASE("An unknown variable of ours is named, with the likely intended one") {
    const Parsed parsed = parse({{"AOTI_DBG_KERNAL", "a"}, {"AOTI_DBG_WHATEVER_THIS_IS", "1"}});
    CHECK(parsed.options == parse({}).options);
    REQUIRE(parsed.complaints.size() == 2);
    CHECK(contains(parsed.complaints[0], "unknown variable AOTI_DBG_KERNAL is ignored."));
    CHECK(contains(parsed.complaints[0], "Did you mean AOTI_DBG_KERNELS?"));
    CHECK_FALSE(contains(parsed.complaints[1], "Did you mean"));
}

TEST_CASE("Variables of the command and of the source tree are known, and an empty unknown one is unset") {
    CHECK(parse({{"AOTI_DBG_TALLY", "/proc/1/fd/3"}, {"AOTI_DBG_CACHE", "/c"}, {"AOTI_DBG_LEVLE", ""}})
              .complaints.empty());
}

TEST_CASE("A complaint is one line of printable text, whatever the value") {
    const Parsed parsed = parse({{"AOTI_DBG_SCOPE", "a\nb\x1b[31m\x7f\xff\xc2\x9b\xe2\x82\xac\xe2"}});
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(contains(parsed.complaints[0], R"("a\nb\x1b[31m\x7f\xff\xc2\x9b)"
                                         "\xe2\x82\xac"
                                         R"(\xe2")"));
}

TEST_CASE("Wrong options beyond a readable number are counted") {
    Variables variables;
    for (int i = 0; i < 30; ++i)
        variables["AOTI_DBG_WRONG_" + std::to_string(i)] = "1";
    const Parsed parsed = parse(variables);
    REQUIRE(parsed.complaints.size() == 9);
    CHECK(parsed.complaints.back() == "22 more invalid options.");
}

TEST_CASE("A given level is remembered as given, even 0") {
    CHECK_FALSE(parse({}).options.level_given);
    CHECK_FALSE(parse({{"AOTI_DBG_LEVEL", "9"}}).options.level_given);
    CHECK(parse({{kPytorchLevel, "0"}}).options.level_given);
    CHECK(parse({{"AOTI_DBG_LEVEL", "0"}}).options.level_given);
}

TEST_CASE("Missing sources are not read") {
    std::vector<std::string> complaints;
    CHECK(parse_options(Sources{}, complaints) == parse({}).options);
    CHECK(complaints.empty());
}

TEST_CASE("A ring is rounded up to a power of two, and 0 turns it off") {
    CHECK(parse({{"AOTI_DBG_RING", "0"}}).options.ring == 0);
    CHECK(parse({{"AOTI_DBG_RING", "1"}}).options.ring == 1);
    CHECK(parse({{"AOTI_DBG_RING", "4097"}}).options.ring == 8192);
    CHECK(parse({{"AOTI_DBG_RING", "1048576"}}).options.ring == 1048576);
    CHECK(parse({{"AOTI_DBG_RING", "1048575"}}).complaints.empty());
}

TEST_CASE("The log is a stream, in any case of letters, or a file whose name is kept") {
    CHECK(parse({{"AOTI_DBG_LOG", "STDOUT"}}).options.log == "stdout");
    CHECK(parse({{"AOTI_DBG_LOG", "Names-%p.Log"}}).options.log == "Names-%p.Log");
}

TEST_CASE("A wrong pattern in a path is refused with the reason, and the default applies") {
    const Parsed out = parse({{"AOTI_DBG_OUT", "out-%z"}});
    CHECK(out.options.out == "aoti_dbg/%t-%p");
    REQUIRE(out.complaints.size() == 1);
    CHECK(contains(out.complaints[0],
                   "AOTI_DBG_OUT: expected a directory (%p, %t, %h, %r, %q{VAR} and %% are replaced), got "
                   "\"out-%z\": unknown pattern \"%z\""));
    CHECK(contains(out.complaints[0], "Using the default, aoti_dbg/%t-%p."));
    const Parsed log = parse({{"AOTI_DBG_LOG", "names%"}});
    CHECK(log.options.log == "stderr");
    REQUIRE(log.complaints.size() == 1);
    CHECK(contains(log.complaints[0], "it ends in a single %"));
    CHECK(parse_file(R"({"out": "a%q{B"})").options.out == "aoti_dbg/%t-%p");
    CHECK(parse_file(R"({"out": "a%q{B"})").complaints.size() == 1);
    CHECK(parse({{"AOTI_DBG_OUT", "100%%"}}).options.out == "100%%");
}

TEST_CASE("Known findings are read from files, and wrong entries are reported with their line") {
    const Parsed parsed = parse({{"AOTI_DBG_SUPPRESS", "inf in mask,/known.txt"}},
                                {{"/known.txt", "# ours\nnan in a - buf0\nzero in b\n"}});
    CHECK(parsed.options.suppress.match("inf", "mask", {}, "x"));
    CHECK(parsed.options.suppress.match("nan", "a", {}, "buf0"));
    CHECK_FALSE(parsed.options.suppress.match("nan", "b", {}, "buf0"));
    REQUIRE(parsed.complaints.size() == 1);
    CHECK(contains(parsed.complaints[0],
                   "AOTI_DBG_SUPPRESS: /known.txt, line 3: unknown check \"zero\" (use nan"));
}

TEST_CASE("An unreadable file of known findings is reported, and so is one written like a kernel") {
    const Parsed missing = parse({{"AOTI_DBG_SUPPRESS", "a,./none.txt"}});
    CHECK(missing.options.suppress.match("nan", "a", {}, {}));
    REQUIRE(missing.complaints.size() == 1);
    CHECK(contains(missing.complaints[0],
                   "AOTI_DBG_SUPPRESS: cannot open ./none.txt: no such file or directory. None of"));
    const Parsed bare = parse({{"AOTI_DBG_SUPPRESS", "known.txt"}}, {{"known.txt", "nan in a\n"}});
    CHECK_FALSE(bare.options.suppress.match("nan", "a", {}, {}));
    REQUIRE(bare.complaints.size() == 1);
    CHECK(contains(bare.complaints[0], "Write ./known.txt to use the file."));
}

TEST_CASE("The table can check a value without parsing an environment") {
    CHECK(fault_of_value("AOTI_DBG_SCOPE", "all").empty());
    CHECK(contains(fault_of_value("AOTI_DBG_SCOPE", "al"), "Did you mean \"all\"?"));
    CHECK_FALSE(fault_of_value("AOTI_DBG_NOTHING", "1").empty());
    CHECK(contains(fault_of_value("AOTI_DBG_SUPPRESS", "a,/no/such/file"),
                   "cannot open /no/such/file: no such"));
}

TEST_CASE("--capture-on captures all kernels, and sets what it needs of other options") {
    const Options finding = parse({{"AOTI_DBG_CAPTURE_ON", "finding"}}).options;
    CHECK(finding.captures);
    CHECK(finding.kernels.matches_everything());
    CHECK(finding.save_on == SaveOn::finding);
    CHECK(finding.check == Check{true, true, false, false});
    CHECK(finding.side == Side::both);
    CHECK(parse({{"AOTI_DBG_CAPTURE_ON", "finding"}, {"AOTI_DBG_CHECK", "inf"}}).options.check ==
          Check{false, true, false, false});
    const Options fault = parse({{"AOTI_DBG_CAPTURE_ON", "fault"}, {"AOTI_DBG_CAPTURE", "a*"}}).options;
    CHECK(fault.captures);
    CHECK(fault.kernels.match("abc"));
    CHECK_FALSE(fault.kernels.match("b"));
    CHECK(fault.keep_last == 1);
    CHECK(fault.levels == Levels{false, false, true});
    CHECK(fault.side == Side::before);
    CHECK(parse({{"AOTI_DBG_CAPTURE_ON", "fault"}, {"AOTI_DBG_KEEP", "last:4"}}).options.keep_last == 4);
    CHECK(parse({{"AOTI_DBG_CAPTURE_ON", "fault"}, {"AOTI_DBG_SIDE", "both"}}).options.side == Side::both);
    CHECK(parse({{"AOTI_DBG_CAPTURE_ON", "always"}}).options.captures);
}

TEST_CASE("What contradicts --capture-on gets a complaint, and --capture-on applies") {
    const auto complaint = [](const std::string& when, const std::string& variable,
                              const std::string& value) {
        const Variables variables = {{"AOTI_DBG_CAPTURE_ON", when}, {variable, value}};
        const Parsed parsed = parse(variables);
        CAPTURE(when, variable, value);
        REQUIRE(parsed.complaints.size() == 1);
        CHECK(contains(parsed.complaints.front(), contradiction_in(sources_of(variables))));
        CHECK(contains(parsed.complaints.front(), "AOTI_DBG_CAPTURE_ON: " + when + " "));
        return parsed.options;
    };
    CHECK(complaint("fault", "AOTI_DBG_KEEP", "first").keep_last == 1);
    CHECK(complaint("fault", "AOTI_DBG_SAVE_ON", "finding").save_on == SaveOn::always);
    CHECK(complaint("finding", "AOTI_DBG_SAVE_ON", "always").save_on == SaveOn::finding);
    CHECK(complaint("finding", "AOTI_DBG_CHECK", "none").check->nan);
    CHECK(contradiction_in(sources_of({{"AOTI_DBG_CAPTURE_ON", "finding"}, {"AOTI_DBG_KEEP", "last:2"}}))
              .empty());
    CHECK(
        contradiction_in(sources_of({{"AOTI_DBG_KEEP", "first"}, {"AOTI_DBG_SAVE_ON", "finding"}})).empty());
}

}  // namespace aoti_dbg::options_test
