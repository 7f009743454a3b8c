// What is reported of NaN: repeats and known findings, model inputs and weights, and places.
#include "tests/unit/findings_fixture.hpp"

namespace aoti_dbg::test::finding_reports_test {

TEST_CASE("The same origin is reported once, in whatever run, and then counted") {
    Watch watch;
    auto& out = watch.script.buffer({0, 0});
    const SiteFacts& site = watch.script.site("k");
    const auto* const buf0 = watch.script.name("buf0", Role::makes);
    for (watch.script.run = 0; watch.script.run < 5; ++watch.script.run) {
        out.values = {0, 0};
        CHECK(watch.call(site, {{buf0, &out, {}}}, [&] { out.values = {kNaN, 0}; }));
    }
    CHECK(watch.fresh.size() == 1);
    CHECK(watch.findings.counts().again == 4);
}

TEST_CASE("The entry that silences a finding is the same whatever was in memory before") {
    for (const bool first_had_some : {false, true}) {
        for (const bool second_had_some : {false, true}) {
            Watch watch;
            watch.script.requested = Requested::printed;
            auto& in = watch.script.buffer({-kInf, -kInf});
            auto& sum = watch.script.buffer({first_had_some ? kNaN : 0});
            auto& weights = watch.script.buffer({second_had_some ? kNaN : 0, 0});
            auto& handed_on = watch.script.buffer({0, 0});
            watch.call(watch.script.site("softmax"),
                       {{watch.script.name("buf0", Role::reads), &in, {}},
                        {watch.script.name("buf1", Role::makes), &sum, {}},
                        {watch.script.name("buf12", Role::makes), &weights, {}}},
                       [&] {
                           sum.values = {kNaN};
                           weights.values = {kNaN, 0};
                       });
            watch.call(watch.script.site("mm"),
                       {{watch.script.name("buf12", Role::reads), &weights, {}},
                        {watch.script.name("buf13", Role::makes), &handed_on, {}}},
                       [&] {
                           handed_on.values = {kNaN, kNaN};
                       });
            REQUIRE(watch.fresh.size() == 1);
            CHECK(watch.fresh[0].suppression == "nan in softmax - buf1, nan in softmax - buf12");
        }
    }
}

TEST_CASE("Another wrong size is another finding, and a storage that is too small is one") {
    Watch watch;
    Finding wrong;
    wrong.kind = Finding::Kind::argument;
    wrong.kernel = kModelInputs;
    wrong.tensor.label = "arg0_1";
    const auto take = [&](const std::string& check, const std::string& expected) {
        wrong.check = check;
        wrong.expected = expected;
        return watch.findings.take(wrong, watch.fresh);
    };
    CHECK(take("size", "12 at dimension 1"));
    CHECK(take("size", "12 at dimension 1"));
    CHECK(watch.fresh.size() == 1);
    CHECK(take("size", "at most 64 at dimension 0"));
    CHECK(watch.fresh.size() == 2);
    CHECK(take("storage", "at least 384 bytes"));
    CHECK(take("storage", "at least 768 bytes"));
    CHECK(watch.fresh.size() == 3);
    CHECK(watch.findings.counts().again == 2);
}

TEST_CASE("Calls without a known site are distinguished by their number in the run") {
    Watch watch;
    auto& out = watch.script.buffer({0});
    SiteFacts& site = watch.script.site("k");
    site.site = ~0U;
    const auto* const arg0 = watch.script.name("arg0", Role::makes);
    for (int i = 0; i < 3; ++i)
        CHECK(watch.call(site, {{arg0, &out, {}}}, [&] { out.values = {kNaN}; }));
    CHECK(watch.fresh.size() == 3);
}

TEST_CASE("A model input with NaN is reported once and blamed on no kernel") {
    Watch watch;
    auto& in = watch.script.buffer({1, kNaN});
    auto& out = watch.script.buffer({0, 0});
    const auto* const input = watch.script.name("arg0_1", Role::reads);
    for (watch.script.run = 0; watch.script.run < 3; ++watch.script.run) {
        CHECK(watch.take(EventSide::inputs, nullptr, 100 + watch.script.run, {{input, &in, {}}}));
        CHECK_FALSE(watch.call(watch.script.site("k"),
                               {{input, &in, {}}, {watch.script.name("buf0", Role::makes), &out, {}}}, [&] {
                                   out.values = {kNaN, 0};
                               }));
    }
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].kind == Finding::Kind::input_nan);
    CHECK(watch.fresh[0].tensor.label == "arg0_1");
    CHECK(watch.fresh[0].suppression == "nan in aoti_model_inputs - arg0_1");
    CHECK(watch.followers() == 3);
    CHECK(watch.findings.counts().unexplained == 0);
}

TEST_CASE("A weight with NaN is reported once by its own name, unless the run wrote it there") {
    Watch watch;
    auto& weight = watch.script.buffer({kNaN});
    auto& out = watch.script.buffer({0});
    const auto* const reads = watch.script.name("l1_bias", Role::reads, "l1.bias");
    const auto* const buf0 = watch.script.name("buf0", Role::makes);
    const SiteFacts& reader = watch.script.site("addmm");
    const auto read = [&] {
        return watch.call(reader, {{reads, &weight, {}}, {buf0, &out, {}}}, [&] { out.values = {kNaN}; });
    };
    if (GENERATE(true, false)) {
        CHECK(read());
        CHECK(read());
        REQUIRE(watch.fresh.size() == 1);
        CHECK(watch.fresh[0].kind == Finding::Kind::weight_nan);
        CHECK(watch.fresh[0].tensor.original_fqn == "l1.bias");
    } else {
        weight.values = {0};
        CHECK(watch.call(watch.script.site("update"),
                         {{watch.script.name("l1_bias", Role::updates, "l1.bias"), &weight, {}}},
                         [&] { weight.values = {kNaN}; }));
        CHECK_FALSE(read());
        REQUIRE(watch.fresh.size() == 1);
        CHECK(watch.fresh[0].kind == Finding::Kind::nan);
        CHECK(watch.fresh[0].kernel == "update");
    }
}

TEST_CASE("Calls of two threads do not excuse or blame each other") {
    Watch watch;
    auto& dirty = watch.script.buffer({kNaN});
    auto& clean = watch.script.buffer({1});
    auto& one = watch.script.buffer({0});
    auto& other = watch.script.buffer({0});
    const SiteFacts& follower = watch.script.site("follower");
    const SiteFacts& origin = watch.script.site("origin");
    const Script::Given reads_dirty{watch.script.name("buf0", Role::reads), &dirty, {}};
    const Script::Given reads_clean{watch.script.name("buf1", Role::reads), &clean, {}};
    watch.take(EventSide::before, &follower, 7, {reads_dirty});
    watch.take(EventSide::before, &origin, 8, {reads_clean});
    one.values = other.values = {kNaN};
    CHECK_FALSE(watch.take(EventSide::after, &follower, 7,
                           {reads_dirty, {watch.script.name("buf2", Role::makes), &one, {}}}));
    CHECK(watch.take(EventSide::after, &origin, 8,
                     {reads_clean, {watch.script.name("buf3", Role::makes), &other, {}}}));
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].kernel == "origin");
}

TEST_CASE("A known finding is counted, and another output of the same call is still reported") {
    Watch watch("nan in k - buf0, inf in *");
    auto& one = watch.script.buffer({0});
    auto& other = watch.script.buffer({0});
    const Script::Given buf0{watch.script.name("buf0", Role::makes), &one, {}};
    const Script::Given buf1{watch.script.name("buf1", Role::makes), &other, {}};
    const SiteFacts& site = watch.script.site("k");
    CHECK_FALSE(watch.call(site, {buf0}, [&] { one.values = {kNaN}; }));
    CHECK_FALSE(watch.call(site, {buf0}, [&] { one.values = {kInf}; }));
    CHECK(watch.findings.counts().suppressed == 2);
    CHECK(watch.fresh.empty());
    CHECK(watch.call(site, {buf0, buf1}, [&] { one.values = other.values = {kNaN}; }));
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].tensor.label == "buf1");
    REQUIRE(watch.fresh[0].also.size() == 1);
    CHECK(watch.fresh[0].also[0].label == "buf0");
    CHECK(std::string(FindingSummary(watch.findings.counts()).text()) == "1 finding (2 suppressed)");
}

TEST_CASE("Scalars are listed among the inputs") {
    Watch watch;
    auto& out = watch.script.buffer({0});
    CHECK(watch.call(watch.script.site("full"),
                     {{watch.script.name("fill_value", Role::reads), nullptr, "nan"},
                      {watch.script.name("buf0", Role::makes), &out, {}}},
                     [&] { out.values = {kNaN}; }));
    REQUIRE(watch.fresh.size() == 1);
    REQUIRE(watch.fresh[0].inputs.size() == 1);
    CHECK(watch.fresh[0].inputs[0].scalar == "nan");
}

TEST_CASE("Endless calls and endless runs use up no memory, and open ones are still judged") {
    Watch watch;
    auto& in = watch.script.buffer({kNaN});
    auto& out = watch.script.buffer({kNaN});
    const SiteFacts& site = watch.script.site("k");
    const Script::Given reads{watch.script.name("buf0", Role::reads), &in, {}};
    const Script::Given writes{watch.script.name("buf1", Role::writes), &out, {}};
    for (std::uint64_t number = 1; number <= 20000; ++number)
        watch.take(EventSide::before, &site, number, {reads, writes});
    // Their before side is long forgotten, so the after side shows what is read.
    CHECK_FALSE(watch.take(EventSide::after, &site, 1, {reads, writes}));
    CHECK_FALSE(watch.take(EventSide::after, &site, 20000, {reads, writes}));
    CHECK(watch.followers() == 2);
    for (watch.script.run = 0; watch.script.run < 1000; ++watch.script.run)
        for (int i = 0; i < 3; ++i)
            watch.call(site, {writes}, [] {});
    CHECK(watch.fresh.empty());
}

TEST_CASE("Places are reported as far as they are known") {
    struct Example {
        std::vector<float> values;
        std::vector<std::int64_t> sizes;
        std::string exact;
        std::string likely;
    };
    const std::vector<Example> examples = {
        {{kNaN, kNaN}, {2}, "all elements", "all elements"},
        {{kNaN}, {}, "", ""},
        {{0, kNaN, 0}, {3}, "", ""},
        {{0, kNaN, kNaN, 0}, {4}, "consecutive", ""},
        {{kNaN, 0, 0, kNaN}, {4}, "scattered", ""},
        {{0, 0, kNaN, kNaN, kNaN, kNaN},
         {3, 2},
         "the rows [1, :], [2, :]",
         "the count matches 2 rows, the first in [1, :]"},
        {{kNaN, kNaN, 0, 0, kNaN, kNaN},
         {3, 1, 2},
         "the rows [0, 0, :], [2, 0, :]",
         "the count matches 2 rows, the first in [0, 0, :]"},
        {{0, kNaN, 0, kNaN}, {2, 2}, "the column [:, 1]", "the count matches 1 column, the first in [:, 1]"},
        {{0, kNaN, kNaN, 0}, {2, 2}, "consecutive", "the count matches 1 column, the first in [:, 1]"},
    };
    for (const Example& example : examples) {
        for (const bool exact : {true, false}) {
            Script script;
            script.with_values = exact;
            CAPTURE(example.exact, exact);
            auto& buffer = script.buffer(example.values, example.sizes);
            const MeasuredCall call =
                script.side(EventSide::after, nullptr, 1, {{script.name("b", Role::makes), &buffer, {}}});
            const WrongPlaces places = places_of_wrong(call.arguments[0], {true, false, false});
            CHECK(places.text == (exact ? example.exact : example.likely));
            REQUIRE_FALSE(places.first.empty());
            CHECK(std::isnan(example.values[places.first[0]]));
        }
    }
}

}  // namespace aoti_dbg::test::finding_reports_test
