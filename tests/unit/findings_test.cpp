// The kernel to blame for a NaN: calls that must not be blamed first, then those that must.
#include "tests/unit/findings_fixture.hpp"

namespace aoti_dbg::test::findings_test {

TEST_CASE("A call that reads NaN is not blamed for passing it on") {
    Watch watch;
    auto& in = watch.script.buffer({1, kNaN});
    auto& out = watch.script.buffer({0, 0});
    const SiteFacts& site = watch.script.site("relu");
    CHECK_FALSE(watch.call(site,
                           {{watch.script.name("buf0", Role::reads), &in, {}},
                            {watch.script.name("buf1", Role::makes), &out, {}}},
                           [&] {
                               out.values = {kNaN, kNaN};
                           }));
    CHECK(watch.fresh.empty());
    CHECK(watch.followers() == 1);
    CHECK(watch.findings.counts().unexplained == 1);
    CHECK(std::string(FindingSummary(watch.findings.counts()).text()) ==
          "0 findings (1 follower, 1 of unknown origin)");
}

TEST_CASE("A NaN that passes through an update in place is not that call's finding") {
    Watch watch;
    auto& buffer = watch.script.buffer({1, kNaN, 3});
    CHECK_FALSE(
        watch.call(watch.script.site("add_"), {{watch.script.name("buf0", Role::updates), &buffer, {}}}, [&] {
            buffer.values = {kNaN, kNaN, kNaN};
        }));
    CHECK(watch.fresh.empty());
    CHECK(watch.followers() == 1);
}

TEST_CASE("An update in place that produces a NaN is blamed for it") {
    Watch watch;
    auto& buffer = watch.script.buffer({1, 0, 3});
    CHECK(
        watch.call(watch.script.site("log_"), {{watch.script.name("buf0", Role::updates), &buffer, {}}}, [&] {
            buffer.values = {1, kNaN, 3};
        }));
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].kernel == "log_");
    CHECK(watch.fresh[0].tensor.label == "buf0");
    CHECK(watch.fresh[0].elements == 1);
    CHECK(watch.fresh[0].first == std::vector<std::uint64_t>{1});
    // The finding has the value that was read, not the one that was written.
    REQUIRE(watch.fresh[0].inputs.size() == 1);
    CHECK(watch.fresh[0].inputs[0].statistics.real.nan == 0);
}

TEST_CASE("Garbage in unwritten memory is not a finding, whatever the cost of statistics") {
    Watch watch;
    watch.script.requested =
        GENERATE(Requested::findings, Requested::printed | Requested::indices | Requested::hash);
    watch.script.with_values = GENERATE(true, false);
    auto& in = watch.script.buffer({1, 2});
    auto& out = watch.script.buffer({kNaN, kNaN, kNaN, kNaN});
    const Given given = {{watch.script.name("buf0", Role::reads), &in, {}},
                         {watch.script.name("buf1", Role::writes), &out, {}}};
    CHECK_FALSE(watch.call(watch.script.site("untouched"), given, [] {}));
    CHECK_FALSE(watch.call(watch.script.site("first_half"), given, [&] { out.values = {1, 2, kNaN, kNaN}; }));
    CHECK_FALSE(watch.call(watch.script.site("second_half"), given, [&] { out.values = {1, 2, 3, 4}; }));
    CHECK_FALSE(watch.call(watch.script.site("reader"),
                           {{watch.script.name("buf1", Role::reads), &out, {}},
                            {watch.script.name("buf2", Role::makes), &in, {}}},
                           [] {}));
    CHECK(watch.fresh.empty());
    CHECK(watch.followers() == 0);
}

TEST_CASE("New NaN in memory that already had some are a finding") {
    Watch watch;
    watch.script.requested =
        GENERATE(Requested::findings, Requested::printed | Requested::indices | Requested::hash);
    auto& out = watch.script.buffer({1, kNaN, 3, 4});
    const bool more = GENERATE(true, false);
    CAPTURE(more);
    CHECK(watch.call(watch.script.site("k"), {{watch.script.name("buf1", Role::writes), &out, {}}}, [&] {
        if (more) {
            out.values = {1, kNaN, kNaN, 4};
        } else {
            out.values = {kNaN, 2, 3, 4};
        }
    }));
    CHECK(watch.fresh.size() == 1);
}

TEST_CASE("A kernel that wrote NaN over NaN is found when a call reads them or the caller gets them") {
    Watch watch;
    auto& in = watch.script.buffer({1, 2});
    auto& out = watch.script.buffer({kNaN, 5});
    auto& next = watch.script.buffer({0, 0});
    const SiteFacts& site = watch.script.site("again");
    CHECK_FALSE(watch.call(site,
                           {{watch.script.name("buf0", Role::reads), &in, {}},
                            {watch.script.name("buf1", Role::writes), &out, {}}},
                           [] {}));
    CHECK(watch.fresh.empty());
    if (GENERATE(true, false)) {
        CHECK(watch.call(watch.script.site("reader"),
                         {{watch.script.name("buf1", Role::reads), &out, {}},
                          {watch.script.name("buf2", Role::makes), &next, {}}},
                         [&] {
                             next.values = {kNaN, 0};
                         }));
        CHECK(watch.followers() == 1);
    } else {
        CHECK(watch.take(EventSide::outputs, nullptr, 9,
                         {{watch.script.name("buf1", Role::unknown), &out, {}}}));
    }
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].kernel == "again");
    CHECK(watch.fresh[0].notes.size() == 1);
    CHECK(watch.fresh[0].inputs.size() == 1);
    CHECK(watch.findings.counts().unexplained == 0);
}

TEST_CASE("A kernel with unknown arguments is found again where it writes NaN over its own") {
    const bool is_suppressed = GENERATE(false, true);
    Watch watch(is_suppressed ? "nan in user_kernel" : "");
    auto& in = watch.script.buffer({1, 2});
    auto& out = watch.script.buffer({0, 0});
    auto& next = watch.script.buffer({0, 0});
    const SiteFacts& origin = watch.script.site("user_kernel");
    const SiteFacts& reader = watch.script.site("reader");
    const Given of_origin = {{watch.script.name("buf0", Role::unknown), &in, {}},
                             {watch.script.name("buf1", Role::unknown), &out, {}}};
    const Given of_reader = {{watch.script.name("buf1", Role::reads), &out, {}},
                             {watch.script.name("buf2", Role::makes), &next, {}}};
    // The next runs get the same memory with the contents that the first one left.
    for (watch.script.run = 0; watch.script.run < 3; ++watch.script.run) {
        const bool first = watch.call(origin, of_origin, [&] { out.values = {1, kNaN}; });
        CHECK(first == (watch.script.run == 0 && !is_suppressed));
        const bool second = watch.call(reader, of_reader, [&] { next.values = {1, kNaN}; });
        CHECK(second == (watch.script.run != 0 && !is_suppressed));
    }
    CHECK(watch.followers() == 3);
    CHECK(std::string(FindingSummary(watch.findings.counts()).text()) ==
          (is_suppressed ? "0 findings (3 suppressed, 3 followers)" : "1 finding (2 repeats, 3 followers)"));
}

TEST_CASE("A kernel that produced NaN once is not blamed for those in its inputs") {
    Watch watch;
    auto& in = watch.script.buffer({1, 2});
    auto& out = watch.script.buffer({0, 0});
    const SiteFacts& site = watch.script.site("user_kernel");
    const Given given = {{watch.script.name("buf0", Role::unknown), &in, {}},
                         {watch.script.name("buf1", Role::unknown), &out, {}}};
    CHECK(watch.call(site, given, [&] { out.values = {1, kNaN}; }));
    ++watch.script.run;
    in.values = {kNaN, 2};
    out.values = {0, 0};
    CHECK_FALSE(watch.call(site, given, [&] { out.values = {kNaN, kNaN}; }));
    CHECK(watch.followers() == 1);
    CHECK(watch.findings.counts().unexplained == 1);
}

TEST_CASE("A follower has a known origin even if the origin is found only after it") {
    Watch watch;
    auto& alias = watch.script.buffer({kNaN});
    auto& out = watch.script.buffer({kNaN, 5});
    auto& next = watch.script.buffer({0});
    const SiteFacts& origin = watch.script.site("origin");
    const SiteFacts& reader = watch.script.site("reader");
    const auto read = [&](Script::Buffer& buffer) {
        return watch.call(reader,
                          {{watch.script.name("buf0", Role::reads), &buffer, {}},
                           {watch.script.name("buf2", Role::makes), &next, {}}},
                          [&] { next.values = {kNaN}; });
    };
    // One of these two comes before the origin and stays as it is.
    CHECK_FALSE(read(alias));
    CHECK_FALSE(watch.call(origin, {{watch.script.name("buf1", Role::writes), &out, {}}}, [] {}));
    CHECK_FALSE(read(alias));
    CHECK(watch.findings.counts().unexplained == 2);
    CHECK(read(out));
    CHECK(watch.findings.counts().unexplained == 1);
    CHECK(watch.followers() == 3);
}

TEST_CASE("An attention mask is not a finding, and a fully masked row is one at the softmax") {
    Watch watch;
    auto& scores = watch.script.buffer({1, 2, 3, 4}, {2, 2});
    auto& masked = watch.script.buffer({0, 0, 0, 0}, {2, 2});
    auto& weights = watch.script.buffer({0, 0, 0, 0}, {2, 2});
    auto& values = watch.script.buffer({0, 0, 0, 0}, {2, 2});
    const auto* const buf1 = watch.script.name("buf1", Role::makes);
    CHECK_FALSE(
        watch.call(watch.script.site("triton_poi_fused_0", {"aten.scalar_tensor", "aten.where", "aten.mul"}),
                   {{watch.script.name("buf0", Role::reads), &scores, {}}, {buf1, &masked, {}}}, [&] {
                       masked.values = {1, -kInf, -kInf, -kInf};
                   }));
    CHECK(watch.call(watch.script.site("triton_per_fused__softmax_1", {"aten._softmax"}),
                     {{watch.script.name("buf1", Role::reads), &masked, {}},
                      {watch.script.name("buf2", Role::makes), &weights, {}}},
                     [&] {
                         weights.values = {1, 0, kNaN, kNaN};
                     }));
    CHECK_FALSE(watch.call(watch.script.site("bmm"),
                           {{watch.script.name("buf2", Role::reads), &weights, {}},
                            {watch.script.name("buf3", Role::makes), &values, {}}},
                           [&] {
                               values.values = {1, 1, kNaN, kNaN};
                           }));
    REQUIRE(watch.fresh.size() == 1);
    const Finding& finding = watch.fresh[0];
    CHECK(finding.kind == Finding::Kind::nan);
    CHECK(finding.kernel == "triton_per_fused__softmax_1");
    CHECK(finding.original_aten == std::vector<std::string>{"aten._softmax"});
    CHECK(finding.pattern == "the row [1, :]");
    CHECK(finding.first == std::vector<std::uint64_t>{2, 3});
    CHECK(finding.suppression == "nan in triton_per_fused__softmax_1 - buf2");
    CHECK(std::string(FindingSummary(watch.findings.counts()).text()) == "1 finding (1 follower)");
}

TEST_CASE("Inf does not excuse a NaN, and NaN excuses an Inf") {
    Watch watch;
    auto& in = watch.script.buffer({kInf, 1});
    auto& out = watch.script.buffer({0, 0});
    CHECK(watch.call(watch.script.site("sub"),
                     {{watch.script.name("buf0", Role::reads), &in, {}},
                      {watch.script.name("buf1", Role::makes), &out, {}}},
                     [&] {
                         out.values = {kNaN, 0};
                     }));
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].inputs.at(0).statistics.real.positive_infinity == 1);
    in.values = {kNaN, 1};
    CHECK_FALSE(watch.call(watch.script.site("exp"),
                           {{watch.script.name("buf0", Role::reads), &in, {}},
                            {watch.script.name("buf1", Role::makes), &out, {}}},
                           [&] {
                               out.values = {0, kInf};
                           }));
}

TEST_CASE("Inf from finite inputs is a finding, even from a mask if it is positive") {
    Watch watch;
    auto& in = watch.script.buffer({1e30F, 1});
    auto& out = watch.script.buffer({0, 0});
    const std::string kernel = GENERATE("triton_poi_fused_mul_0", "aoti_torch_cpu_masked_fill_Scalar");
    const float value = GENERATE(true, false) ? kInf : -kInf;
    CAPTURE(kernel, value);
    const bool is_mask = value < 0 && kernel != "triton_poi_fused_mul_0";
    CHECK(watch.call(watch.script.site(kernel),
                     {{watch.script.name("buf0", Role::reads), &in, {}},
                      {watch.script.name("buf1", Role::makes), &out, {}}},
                     [&] {
                         out.values = {value, 0};
                     }) != is_mask);
    CHECK(watch.fresh.size() == (is_mask ? 0 : 1));
}

TEST_CASE("A finding of a mask says that its -Inf are not counted") {
    Watch watch;
    auto& out = watch.script.buffer({0, 0, 0});
    const bool is_mask = GENERATE(true, false);
    CHECK(watch.call(watch.script.site(is_mask ? "where" : "triton_poi_fused_mul_0"),
                     {{watch.script.name("buf1", Role::makes), &out, {}}}, [&] {
                         out.values = {kInf, -kInf, -kInf};
                     }));
    REQUIRE(watch.fresh.size() == 1);
    std::string text;
    append_finding_text(watch.fresh[0], text);
    CHECK(text.find(is_mask ? "1 of 3 are +Inf; first at [0]" : "3 of 3 are Inf: all elements") !=
          std::string::npos);
}

TEST_CASE("A word in a name is a mask only if it is a whole word") {
    Watch watch;
    auto& out = watch.script.buffer({0});
    const auto is_blamed = [&](const std::string& kernel) {
        out.values = {0};
        return watch.call(watch.script.site(kernel), {{watch.script.name("buf1", Role::makes), &out, {}}},
                          [&] { out.values = {-kInf}; });
    };
    CHECK(is_blamed("triton_poi_fullgraph_0"));
    CHECK(is_blamed("elsewhere"));
    CHECK_FALSE(is_blamed("triton_poi_fused_full_0"));
    CHECK_FALSE(is_blamed("aten.full_like"));
    CHECK_FALSE(is_blamed("where"));
}

TEST_CASE("Only requested checks produce findings") {
    Watch watch;
    auto& out = watch.script.buffer({0, 0});
    const auto make = [&](Check check) {
        watch.check = check;
        out.values = {0, 0};
        return watch.call(watch.script.site("k"), {{watch.script.name("buf0", Role::makes), &out, {}}}, [&] {
            out.values = {kNaN, kInf};
        });
    };
    CHECK_FALSE(make({}));
    CHECK(make({false, true}));
    CHECK(watch.fresh.back().kind == Finding::Kind::inf);
    CHECK(make({true, false}));
    CHECK(watch.fresh.back().kind == Finding::Kind::nan);
    CHECK(make({true, true}));
    CHECK(watch.fresh.size() == 4);
}

TEST_CASE("Leftovers of a failed call are not findings, and neither are unmeasured outputs") {
    Watch watch;
    auto& out = watch.script.buffer({kNaN});
    const Given given = {{watch.script.name("buf0", Role::makes), &out, {}}};
    MeasuredCall failed = watch.script.side(EventSide::after, &watch.script.site("k"), 1, given);
    failed.result = 1;
    CHECK_FALSE(watch.findings.take(failed, watch.check, watch.fresh));
    const Measured measured = GENERATE(Measured::no, Measured::not_yet);
    CHECK_FALSE(watch.take(EventSide::after, &watch.script.site("k"), 2,
                           {{watch.script.name("buf0", Role::makes), &out, {}, measured}}));
    CHECK(watch.fresh.empty());
}

TEST_CASE("An unmeasured input weakens a finding and is named") {
    Watch watch;
    auto& in = watch.script.buffer({1});
    auto& out = watch.script.buffer({0});
    CHECK(watch.call(watch.script.site("k"),
                     {{watch.script.name("buf0", Role::reads), &in, {}, Measured::no},
                      {watch.script.name("buf1", Role::makes), &out, {}}},
                     [&] { out.values = {kNaN}; }));
    REQUIRE(watch.fresh.size() == 1);
    REQUIRE(watch.fresh[0].notes.size() == 1);
    CHECK(watch.fresh[0].notes[0] ==
          "NaN may come from the input buf0, which was not measured: the stream is capturing");
    CHECK(watch.fresh[0].inputs.at(0).unmeasured == "the stream is capturing");
}

TEST_CASE("A buffer that is only read may be measured on either side, or earlier") {
    Watch watch;
    auto& in = watch.script.buffer({kNaN});
    auto& out = watch.script.buffer({kNaN});
    const Measured measured = GENERATE(Measured::now, Measured::earlier);
    CHECK_FALSE(watch.take(EventSide::after, &watch.script.site("k"), 1,
                           {{watch.script.name("buf0", Role::reads), &in, {}, measured},
                            {watch.script.name("buf1", Role::makes), &out, {}}}));
    CHECK(watch.followers() == 1);
}

TEST_CASE("A call whose before side was lost is not blamed for its possible inputs") {
    Watch watch;
    auto& in = watch.script.buffer({1});
    auto& out = watch.script.buffer({kNaN});
    const Role role = GENERATE(Role::writes, Role::updates, Role::unknown);
    CHECK_FALSE(watch.take(
        EventSide::after, &watch.script.site("k"), 1,
        {{watch.script.name("buf0", Role::reads), &in, {}}, {watch.script.name("buf1", role), &out, {}}}));
    CHECK(watch.fresh.empty());
}

TEST_CASE("An argument that may or may not be read is an excuse, and is blamed if it was clean") {
    Watch watch;
    auto& one = watch.script.buffer({1});
    auto& other = watch.script.buffer({kNaN});
    const Given given = {{watch.script.name("arg0", Role::unknown), &one, {}},
                         {watch.script.name("arg1", Role::unknown), &other, {}}};
    CHECK_FALSE(watch.call(watch.script.site("k"), given, [&] { one.values = {kNaN}; }));
    CHECK(watch.fresh.empty());
    one.values = {1};
    other.values = {2};
    CHECK(watch.call(watch.script.site("k"), given, [&] { other.values = {kNaN}; }));
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].tensor.label == "arg1");
}

TEST_CASE("A buffer that a call only reads and that has NaN afterwards is reported as a contradiction") {
    Watch watch;
    auto& in = watch.script.buffer({1, 2});
    CHECK(watch.call(watch.script.site("out_of_bounds"), {{watch.script.name("buf0", Role::reads), &in, {}}},
                     [&] {
                         in.values = {1, kNaN};
                     }));
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].notes == std::vector<std::string>{"buf0 is declared read-only but changed"});
}

TEST_CASE("A buffer that a kernel both reads and writes is reported once, as an output") {
    Watch watch;
    auto& buffer = watch.script.buffer({1, 2});
    const Given given = {{watch.script.name("arg0_1", Role::reads), &buffer, {}},
                         {watch.script.name("arg0_1", Role::writes), &buffer, {}}};
    CHECK(watch.call(watch.script.site("cpp_fused_add_copy__log_0"), given, [&] {
        buffer.values = {1, kNaN};
    }));
    REQUIRE(watch.fresh.size() == 1);
    CHECK(watch.fresh[0].tensor.role == Role::writes);
    CHECK(watch.fresh[0].also.empty());
    CHECK(watch.fresh[0].notes.empty());
    // It read the earlier contents, not the ones that it left.
    REQUIRE(watch.fresh[0].inputs.size() == 1);
    CHECK(watch.fresh[0].inputs[0].statistics.real.nan == 0);
}

}  // namespace aoti_dbg::test::findings_test
