// Matching of calls at run time to call sites. Random bodies run at random: the branch, the number of loop
// rounds, and the launches left out.

#include <string>
#include <vector>

#include "model/call_matcher.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/call_sites_fixture.hpp"

namespace aoti_dbg::call_sites_matcher_test {
namespace {

CallMatcher::Match call(const CallPlan& plan, CallMatcher& matcher, const char* name) {
    return matcher.match(plan.id_of(name));
}

/// A body as source text, and a way to run it.
class RandomBody {
  public:
    /// Without `repeats`, every call has a name of its own.
    RandomBody(Random& random, bool repeats) : random_(random), repeats_(repeats) { block(0); }

    [[nodiscard]] const std::string& source() const { return source_; }
    [[nodiscard]] std::uint32_t sites() const { return sites_; }

    /// The sites that one run passes. One call in `skips` is left out, unless that is 0.
    std::vector<std::uint32_t> run(std::size_t skips) {
        std::vector<std::uint32_t> passed;
        run_block(0, passed, skips);
        if (passed.size() > kLongestRun) passed.resize(kLongestRun);
        return passed;
    }

  private:
    static constexpr std::size_t kLongestRun = 300;

    struct Item {
        enum class Kind { call, branch, loop } kind = Kind::call;
        std::uint32_t site = 0;
        std::size_t first = kNone;  // blocks
        std::size_t second = kNone;
    };

    std::size_t block(int depth) {
        const std::size_t at = blocks_.size();
        blocks_.emplace_back();
        for (std::size_t count = random_.below(6); count > 0; --count) {
            Item item;
            const std::size_t kind = depth < 4 ? random_.below(6) : 0;
            if (kind == 4) {
                item.kind = Item::Kind::branch;
                source_ += "if (c) {\n";
                item.first = block(depth + 1);
                if (random_.one_in(2)) {
                    source_ += "} else {\n";
                    item.second = block(depth + 1);
                }
                source_ += "}\n";
            } else if (kind == 5) {
                item.kind = Item::Kind::loop;
                source_ += "while (1) {\n";
                item.first = block(depth + 1);
                source_ += "if (!c) break;\n";
                item.second = block(depth + 1);
                source_ += "}\n";
            } else {
                item.site = sites_++;
                const std::size_t name = repeats_ && random_.one_in(2) ? random_.below(3) : 10 + item.site;
                source_ += "cpp_" + std::to_string(name) + "();\n";
            }
            blocks_[at].push_back(item);
        }
        return at;
    }

    void run_block(std::size_t block, std::vector<std::uint32_t>& passed, std::size_t skips) {
        if (block == kNone || passed.size() > kLongestRun) return;
        for (const Item& item : blocks_[block]) {
            if (item.kind == Item::Kind::call) {
                if (skips == 0 || !random_.one_in(skips)) passed.push_back(item.site);
            } else if (item.kind == Item::Kind::branch) {
                run_block(random_.one_in(2) ? item.first : item.second, passed, skips);
            } else {
                for (std::size_t times = random_.below(4);; --times) {
                    run_block(item.first, passed, skips);
                    if (times == 0) break;
                    run_block(item.second, passed, skips);
                }
            }
        }
    }

    Random& random_;
    bool repeats_;
    std::string source_;
    std::uint32_t sites_ = 0;
    std::vector<std::vector<Item>> blocks_;
};

TEST_CASE("A unique name finds its site, whatever the control flow and the launches left out") {
    Random random;
    for (int round = 0; round < 300; ++round) {
        RandomBody body(random, false);
        const WrapperInfo info = read_body(body.source());
        CAPTURE(body.source());
        REQUIRE(info.run.sites.size() == body.sites());
        const CallPlan plan(info.run);
        CallMatcher matcher(plan);
        for (int run = 0; run < 4; ++run) {
            matcher.begin_run();
            for (const std::uint32_t site : body.run(run == 0 ? 0 : 3)) {
                if (random.one_in(4)) CHECK(call(plan, matcher, "aoti_torch_cpu_unknown").site == kNone);
                const CallMatcher::Match match = matcher.match(plan.id_of(info.run.sites[site].key));
                REQUIRE(match.site == site);
                REQUIRE(match.is_certain);
            }
        }
        CHECK_FALSE(matcher.take_lost());
    }
}

TEST_CASE("With repeated names, matches called certain are right, and a unique name restores certainty") {
    Random random;
    std::size_t certain = 0;
    std::size_t all = 0;
    for (int round = 0; round < 300; ++round) {
        RandomBody body(random, true);
        const WrapperInfo info = read_body(body.source());
        CAPTURE(body.source());
        const CallPlan plan(info.run);
        CallMatcher matcher(plan);
        for (int run = 0; run < 4; ++run) {
            matcher.begin_run();
            for (const std::uint32_t site : body.run(0)) {
                const std::string& key = info.run.sites[site].key;
                const CallMatcher::Match match = matcher.match(plan.id_of(key));
                REQUIRE(info.run.sites[match.site].key == key);
                const bool is_alone = key.size() > 5;  // cpp_10 and up
                if (match.is_certain || is_alone) REQUIRE(match.site == site);
                certain += match.is_certain ? 1 : 0;
                ++all;
            }
        }
        CHECK_FALSE(matcher.take_lost());
    }
    CHECK(certain * 10 > all * 8);
}

TEST_CASE("A straight run costs one step per call") {
    std::string source;
    for (int at = 0; at < 2000; ++at) {
        source += at % 2 == 0 ? "cpp_a();\n" : "cpp_b();\n";
    }
    const WrapperInfo info = read_body(source);
    const CallPlan plan(info.run);
    CallMatcher matcher(plan);
    for (std::uint32_t run = 0; run < 2; ++run) {
        matcher.begin_run();
        for (std::uint32_t site = 0; site < 2000; ++site) {
            REQUIRE(call(plan, matcher, site % 2 == 0 ? "cpp_a" : "cpp_b").site == site);
        }
    }
    CHECK(matcher.steps() == 4000);
}

TEST_CASE("A skipped launch is more plausible than a skipped op") {
    const WrapperInfo info = read_body(
        "if (c) { aoti_torch_cpu_relu(buf0); aoti_torch_cpu_mm(buf0); } else { call_triton_a(buf0, d, s, k, "
        "c);\n"
        "aoti_torch_cpu_mm(buf1); }\n");
    const CallPlan plan(info.run);
    CallMatcher matcher(plan);
    const CallMatcher::Match match = call(plan, matcher, "aoti_torch_cpu_mm");
    CHECK(match.site == 3);
    CHECK(match.is_certain);
}

TEST_CASE("A match says whether a call before it was skipped, apart from copies") {
    const WrapperInfo info = read_body(
        "if (c) { aoti_torch_clone_preserve_strides(buf0, &buf1_handle); }\n"
        "call_triton_a(buf0, d, s, k, c);\ncall_triton_b(buf0, d, s, k, c);\ncpp_c();\ncpp_d();\ncpp_c();\n");
    const CallPlan plan(info.run);
    const auto is_next = [&plan](const std::vector<const char*>& calls) {
        CallMatcher matcher(plan);
        std::string text;
        for (const char* name : calls)
            text += call(plan, matcher, name).is_next ? 'n' : '-';
        return text;
    };
    CHECK(is_next({"triton_a", "triton_b", "cpp_c", "cpp_d", "cpp_c"}) == "nnnnn");
    CHECK(is_next({"triton_a", "cpp_c", "cpp_d"}) == "n-n");
    CHECK(is_next({"triton_b", "cpp_c", "cpp_d", "cpp_c"}) == "-nnn");
    CHECK(is_next({"triton_a", "triton_b", "cpp_d"}) == "nn-");
    // No path leads back.
    CHECK(is_next({"triton_a", "triton_b", "triton_a"}) == "nn-");
}

TEST_CASE("Two branches with the same start are distinguished by what follows") {
    const WrapperInfo info =
        read_body("if (c) { cpp_a(); cpp_b(); } else { cpp_a(); cpp_c(); cpp_a(); }\ncpp_a();\n");
    const CallPlan plan(info.run);
    CallMatcher matcher(plan);
    CHECK_FALSE(call(plan, matcher, "cpp_a").is_certain);
    CHECK(call(plan, matcher, "cpp_c").site == 3);
    CHECK(call(plan, matcher, "cpp_a").site == 4);
    CHECK(call(plan, matcher, "cpp_a").site == 5);
    CHECK_FALSE(matcher.take_lost());
}

TEST_CASE("A call in an impossible place is found by its name, and that is reported once") {
    const WrapperInfo info = read_body("cpp_a(); cpp_b(); cpp_c(); cpp_d(); cpp_b();\n");
    const CallPlan plan(info.run);
    CallMatcher matcher(plan);
    CHECK(call(plan, matcher, "cpp_c").site == 2);
    CHECK(call(plan, matcher, "cpp_a").site == 0);
    CHECK(matcher.take_lost());
    CHECK(call(plan, matcher, "cpp_b").site == 1);
    CHECK(call(plan, matcher, "cpp_d").site == 3);
    CHECK(call(plan, matcher, "cpp_c").site == 2);
    CHECK_FALSE(matcher.take_lost());
    CHECK(matcher.match(12345).site == kNone);
    matcher.begin_run();
    CHECK(call(plan, matcher, "cpp_a").site == 0);
}

TEST_CASE("A search is bounded, however many branches are not taken") {
    std::string source;
    for (int at = 0; at < 20000; ++at) {
        source += "if (c) { cpp_a" + std::to_string(at) + "(); }\n";
    }
    const WrapperInfo info = read_body(source + "cpp_last();\n");
    const CallPlan plan(info.run);
    CallMatcher matcher(plan);
    CHECK(call(plan, matcher, "cpp_a0").site == 0);
    const std::uint64_t before = matcher.steps();
    const CallMatcher::Match last = call(plan, matcher, "cpp_last");
    CHECK(last.site == 20000);
    CHECK(last.is_certain);
    CHECK_FALSE(last.is_next);  // the search gave up
    CHECK(matcher.steps() - before <= 4097);
}

TEST_CASE("A search that gave up is not certain in any run") {
    std::string source = "if (c) { cpp_a(); }\n";
    for (int at = 0; at < 5000; ++at) {
        source += "if (c) { cpp_b" + std::to_string(at) + "(); }\n";
    }
    const WrapperInfo info = read_body(source + "if (c) { cpp_a(); }\n");
    const CallPlan plan(info.run);
    CallMatcher matcher(plan);
    for (int run = 0; run < 3; ++run) {
        matcher.begin_run();
        CHECK_FALSE(call(plan, matcher, "cpp_a").is_certain);
    }
}

TEST_CASE("With too many possible places nothing is certain until a unique name comes") {
    std::string source;
    for (int at = 0; at < 40; ++at) {
        source += "if (c) { cpp_a(); cpp_b" + std::string(at == 39 ? "_last" : "") + "(); }\n";
    }
    const WrapperInfo info = read_body(source + "cpp_end(); cpp_a();\n");
    const CallPlan plan(info.run);
    CallMatcher matcher(plan);
    CHECK_FALSE(call(plan, matcher, "cpp_a").is_certain);
    const CallMatcher::Match last = call(plan, matcher, "cpp_b_last");
    CHECK(last.site == 79);
    CHECK(last.is_certain);
    CHECK(call(plan, matcher, "cpp_end").is_certain);
    CHECK(call(plan, matcher, "cpp_a").site == 81);
}

TEST_CASE("A body without calls has no sites to match") {
    const CallPlan plan{RunBody()};
    CallMatcher matcher(plan);
    CHECK(plan.id_of("cpp_a") == kNone);
    CHECK(matcher.match(kNone).site == kNone);
    CHECK(matcher.match(0).site == kNone);
}

TEST_CASE("A real model's branches and loop are followed") {
    const WrapperInfo info = read_wrapper(test_data("control_flow.released.cpp.txt"));
    const CallPlan plan(info.run);
    CallMatcher matcher(plan);
    const std::vector<std::uint32_t> run = {0, 3, 4, 5, 6, 7, 8, 7, 8, 7};
    REQUIRE(info.run.sites.size() == 9);
    for (const std::uint32_t site : run) {
        const CallMatcher::Match match = matcher.match(plan.id_of(info.run.sites[site].key));
        CHECK(match.site == site);
        CHECK(match.is_certain);
    }
}

}  // namespace
}  // namespace aoti_dbg::call_sites_matcher_test
