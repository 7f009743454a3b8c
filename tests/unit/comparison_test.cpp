// Two recordings, written by the renderer of events.jsonl and compared: which calls diverge on their own, and
// which pass a difference on.
#include "compare/comparison.hpp"

#include <cstring>
#include <memory>

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::compare::comparison_test {
namespace {

using namespace test;

constexpr Requested kFull = Requested::printed | Requested::indices | Requested::hash;

struct Value {
    std::string label;
    float number = 0;
    Role role = Role::reads;
    std::string fqn = {};
    bool is_measured = true;
};

/// Writes events.jsonl. The first element of each tensor is its number.
class Writer {
  public:
    explicit Writer(Requested requested = kFull) : requested_(requested) {
        JsonlRenderer::render_header({}, file);
        JsonlRenderer::render_model({0, "/tmp/model.so", "model"}, file);
    }

    void begin(std::uint32_t run, const std::vector<Value>& inputs) {
        run_ = run;
        call_ = 0;
        add(EventSide::inputs, nullptr, inputs, kNoCallNumber);
    }
    void call(const std::string& kernel, const std::vector<Value>& before, const std::vector<Value>& after) {
        const std::uint32_t number = begin_call(kernel, before);
        end_call(kernel, number, after);
    }
    std::uint32_t begin_call(const std::string& kernel, const std::vector<Value>& before) {
        const SiteFacts site = site_with_nodes(kernel);
        add(EventSide::before, &site, before, call_);
        ++nesting_;
        return call_++;
    }
    void end_call(const std::string& kernel, std::uint32_t number, const std::vector<Value>& after) {
        const SiteFacts site = site_with_nodes(kernel);
        --nesting_;
        if (!after.empty()) add(EventSide::after, &site, after, number);
    }
    void end(const std::vector<Value>& outputs) { add(EventSide::outputs, nullptr, outputs, kNoCallNumber); }

    std::string file;
    std::vector<std::string> nodes;  // of the calls that follow
    std::uint32_t model = 0;

  private:
    [[nodiscard]] SiteFacts site_with_nodes(const std::string& kernel) const {
        SiteFacts site = site_of(kernel);
        site.source_nodes = nodes;
        return site;
    }

    void add(EventSide side, const SiteFacts* site, const std::vector<Value>& values, std::uint32_t number) {
        std::vector<std::unique_ptr<ArgumentFacts>> facts;
        std::vector<std::unique_ptr<HeldTensor>> tensors;
        std::vector<MeasuredArgument> arguments;
        for (const Value& value : values) {
            facts.push_back(std::make_unique<ArgumentFacts>(label_of(value.label)));
            facts.back()->role = value.role;
            facts.back()->original_fqn = value.fqn;
            std::vector<float> elements(100, 1);
            elements[7] = value.number;
            tensors.push_back(
                std::make_unique<HeldTensor>(DType::float32, std::vector<std::int64_t>{100}, elements));
            arguments.push_back(value.is_measured ? tensors.back()->measured(*facts.back(), requested_)
                                                  : tensors.back()->unmeasured(*facts.back(), "busy"));
        }
        MeasuredCall call = call_of(side, site, arguments);
        call.model = model;
        call.run = run_;
        call.call = number;
        call.nesting = nesting_;
        renderer_.render(call, file);
    }

    Requested requested_;
    JsonlRenderer renderer_;
    std::uint32_t run_ = 0;
    std::uint32_t call_ = 0;
    std::uint32_t nesting_ = 0;
};

ByteSource source_of(const std::string& text) {
    return [&text, at = std::size_t{0}](char* to, std::size_t bytes) mutable {
        const std::size_t count = std::min(bytes, text.size() - at);
        std::memcpy(to, text.data() + at, count);
        at += count;
        return count;
    };
}

Comparison compared(const std::string& first, const std::string& second) {
    RunReader ours(source_of(first));
    RunReader theirs(source_of(second));
    Comparison result = compare_recordings(ours, theirs, {});
    // The facts belong to the readers.
    for (Beginning& beginning : result.beginnings)
        beginning.first.facts = beginning.second.facts = nullptr;
    return result;
}

struct Numbers {
    float input = 1;
    float weight = 2;
    float made = 3;   // by the first kernel
    float found = 3;  // by the second kernel, in the same tensor
    float result = 4;
    bool has_extra = false;
};

/// buf0 = first(arg0, weight); [extra(arg0)]; buf1 = second(buf0); return buf1
std::string recording(const Numbers& numbers, Requested requested = kFull, std::uint32_t runs = 1) {
    Writer writer(requested);
    for (std::uint32_t run = 0; run < runs; ++run) {
        writer.begin(run, {{"arg0_1", numbers.input}});
        writer.call("first",
                    {{"arg0_1", numbers.input}, {"l1_weight", numbers.weight, Role::reads, "l1.weight"}},
                    {{"buf0", numbers.made, Role::writes}});
        if (numbers.has_extra) writer.call("extra", {{"arg0_1", numbers.input}}, {{"buf9", 1, Role::writes}});
        writer.call("second", {{"buf0", numbers.found}}, {{"buf1", numbers.result, Role::writes}});
        writer.end({{"buf1", numbers.result}});
    }
    return writer.file;
}

TEST_CASE("Recordings with the same hashes are equal") {
    const Comparison result = compared(recording({}, kFull, 3), recording({}, kFull, 3));
    CHECK_FALSE(result.is_different());
    CHECK(result.runs == 3);
    CHECK(result.calls == 6);
    CHECK(result.equal == 6);
    CHECK(result.not_seen == 0);
}

TEST_CASE("Equal statistics without a hash prove nothing") {
    const Comparison result = compared(recording({}), recording({}, Requested::printed));
    CHECK_FALSE(result.is_different());
    CHECK(result.equal == 0);
    CHECK(result.not_seen == 2);
}

TEST_CASE("A call with equal inputs and another output is where the difference begins") {
    const Comparison result = compared(recording({}), recording({.made = 5, .found = 5, .result = 6}));
    CHECK(result.diverge == 1);
    CHECK(result.follow == 1);
    REQUIRE(result.beginnings.size() == 1);
    CHECK(result.beginnings[0].call == 0);
    CHECK(result.beginnings[0].site.kernel == "first");
    CHECK(result.beginnings[0].origin == Origin::call);
    CHECK(result.beginnings[0].inputs == Agreement::equal);
    CHECK(result.runs_with_other_outputs == 1);
}

TEST_CASE("A weight that differs is the origin") {
    const Comparison result =
        compared(recording({}), recording({.weight = 9, .made = 5, .found = 5, .result = 6}));
    REQUIRE(result.beginnings.size() == 1);
    CHECK(result.beginnings[0].origin == Origin::constant);
    CHECK(result.beginnings[0].call == 0);
    CHECK(result.follow == 1);
}

TEST_CASE("Memory that changes between two calls is the origin") {
    const Comparison result = compared(recording({}), recording({.found = 5, .result = 6}));
    REQUIRE(result.beginnings.size() == 1);
    CHECK(result.beginnings[0].origin == Origin::memory);
    CHECK(result.beginnings[0].last_equal == 0);
    CHECK(result.beginnings[0].equal_before == 1);
}

TEST_CASE("Other inputs of the run are no divergence") {
    const Comparison result =
        compared(recording({}), recording({.input = 7, .made = 5, .found = 5, .result = 6}));
    CHECK(result.beginnings.empty());
    CHECK(result.runs_with_other_inputs == 1);
    REQUIRE(result.inputs.size() == 1);
    CHECK(result.follow == 2);
}

TEST_CASE("A difference that does not reach an output is absorbed") {
    const Comparison result = compared(recording({}), recording({.input = 7}));
    CHECK(result.absorb == 1);
    CHECK(result.follow == 0);
    CHECK(result.equal == 1);
}

TEST_CASE("Another build has other labels for the same tensors") {
    const auto build = [](const std::string& label, float number) {
        Writer writer;
        writer.begin(0, {{"arg0_1", 1}});
        writer.call("first", {{"arg0_1", 1}}, {{label, 2, Role::writes}});
        writer.call("second", {{label, 2}}, {{"buf5", number, Role::writes}});
        writer.end({{"buf5", number}});
        return writer.file;
    };
    CHECK_FALSE(compared(build("buf0", 3), build("buf7", 3)).is_different());
    const Comparison result = compared(build("buf0", 3), build("buf7", 4));
    REQUIRE(result.beginnings.size() == 1);
    CHECK(result.beginnings[0].call == 1);
    CHECK(result.beginnings[0].origin == Origin::call);
}

TEST_CASE("A difference that comes from a call without a partner begins where it is read") {
    const auto build = [](const std::string& kernel, float number) {
        Writer writer;
        writer.begin(0, {{"arg0_1", 1}});
        writer.call(kernel, {{"arg0_1", 1}}, {{"buf0", number, Role::writes}});
        writer.call("second", {{"buf0", number}}, {{"buf1", number, Role::writes}});
        writer.call("third", {{"buf1", number}}, {{"buf2", number, Role::writes}});
        writer.end({{"buf2", number}});
        return writer.file;
    };
    const Comparison result = compared(build("fused", 3), build("other", 4));
    REQUIRE(result.beginnings.size() == 1);
    CHECK(result.beginnings[0].site.kernel == "second");
    CHECK(result.beginnings[0].origin == Origin::alone);
    CHECK(result.follow == 1);
    CHECK(result.only_first_calls == 1);
}

TEST_CASE("Calls of different forms are compared by their only result if they compute the same nodes") {
    const auto build = [](const std::string& kernel, float number, const std::vector<std::string>& nodes) {
        Writer writer;
        writer.nodes = nodes;
        writer.begin(0, {{"arg0_1", 1}});
        std::vector<Value> read{{"arg0_1", 1}};
        if (kernel == "template") read.push_back({"arg9_1", 5});
        std::vector<Value> after = read;
        after.push_back({"buf0", number, Role::writes});
        writer.call(kernel, read, after);
        writer.nodes = {"other"};
        writer.call("second", {{"buf0", number}}, {{"buf1", number, Role::writes}});
        writer.end({{"buf1", number}});
        return writer.file;
    };
    const auto first_of = [&](const std::string& kernel, const std::vector<std::string>& nodes) {
        const Comparison result = compared(build("addmm", 3, {"linear", "t"}), build(kernel, 4, nodes));
        REQUIRE(result.beginnings.size() == 1);
        return result.beginnings[0].call;
    };
    CHECK(first_of("template", {"linear", "t"}) == 0);
    CHECK(first_of("template", {"linear", "relu"}) == 1);
    CHECK_FALSE(compared(build("addmm", 3, {"linear"}), build("template", 3, {"linear"})).is_different());
}

TEST_CASE("Another build may differ by as much as equal calls of one build do") {
    const auto build = [](const std::string& kernel, const std::vector<float>& numbers) {
        Writer writer;
        for (std::uint32_t run = 0; run < numbers.size(); ++run) {
            writer.begin(run, {{"arg0_1", 1}});
            writer.call(kernel, {{"arg0_1", 1}}, {{"buf0", numbers[run], Role::writes}});
            writer.end({{"buf0", numbers[run]}});
        }
        return writer.file;
    };
    CHECK(compared(build("scatter_1", {3, 3}), build("scatter_2", {3.2F, 3.2F})).diverge == 2);
    CHECK(compared(build("scatter_1", {3, 3.5F}), build("scatter_2", {3.2F, 3.2F})).diverge == 0);
    CHECK(compared(build("scatter_1", {3, 3}), build("scatter_2", {3.2F, 2.8F})).diverge == 0);
    CHECK(compared(build("scatter_1", {3, 3.5F}), build("scatter_2", {40, 40})).diverge == 2);
}

TEST_CASE("Equal calls are found between calls with other inputs, but not in another model") {
    struct Run {
        std::uint32_t model = 0;
        float input = 1;
        float result = 3;
    };
    const auto build = [](const std::string& kernel, const std::vector<Run>& runs) {
        Writer writer;
        for (std::uint32_t number = 0; number < runs.size(); ++number) {
            const Run& run = runs[number];
            writer.model = run.model;
            writer.begin(number, {{"arg0_1", run.input}});
            writer.call(kernel, {{"arg0_1", run.input}}, {{"buf0", run.result, Role::writes}});
            writer.end({{"buf0", run.result}});
        }
        return writer.file;
    };
    const std::string alternating = build("scatter_1", {{0, 1, 3}, {0, 2, 4}, {0, 1, 3.5F}, {0, 2, 4}});
    const std::string other = build("scatter_2", {{0, 1, 3.2F}, {0, 2, 4.2F}, {0, 1, 3.2F}, {0, 2, 4.2F}});
    CHECK(compared(alternating, other).diverge == 0);
    const std::string two_models = build("scatter_1", {{0, 1, 3}, {1, 1, 3.5F}});
    CHECK(compared(two_models, build("scatter_2", {{0, 1, 3.2F}, {1, 1, 3.7F}})).diverge == 2);
}

TEST_CASE("Damaged strides do no harm") {
    for (const char* strides : {"[-700000]", "[9223372036854775807]", "[4611686018427387904]", "[0]"}) {
        std::string damaged = recording({});
        const std::string from = R"("strides":[1])";
        for (std::size_t at = damaged.find(from); at != std::string::npos; at = damaged.find(from, at))
            damaged.replace(at, from.size(), std::string(R"("strides":)") + strides);
        CHECK(damaged.find(strides) != std::string::npos);
        CHECK(compared(recording({}), damaged).runs == 1);
        CHECK(compared(damaged, damaged).runs == 1);
    }
}

TEST_CASE("A weight that differs is named even if its first reader hides it") {
    const auto build = [](float weight) {
        Writer writer;
        writer.begin(0, {{"arg0_1", 1}});
        writer.call("first", {{"arg0_1", 1}, {"w", weight, Role::reads, "fc.w"}},
                    {{"buf0", 2, Role::writes}});
        writer.end({{"buf0", 2}});
        return writer.file;
    };
    const Comparison result = compared(build(3), build(4));
    REQUIRE(result.beginnings.size() == 1);
    CHECK(result.beginnings[0].origin == Origin::constant);
}

TEST_CASE("A read that was not measured forgets nothing") {
    const auto build = [](float number) {
        Writer writer;
        writer.begin(0, {{"arg0_1", 1}});
        writer.call("first", {{"arg0_1", 1}}, {{"buf0", number, Role::writes}});
        writer.call("second", {{"buf0", number, Role::reads, {}, false}}, {{"buf1", 2, Role::writes}});
        writer.call("third", {{"buf0", number}}, {{"buf2", number, Role::writes}});
        writer.end({{"buf2", number}});
        return writer.file;
    };
    const Comparison result = compared(build(3), build(4));
    CHECK(result.diverge == 1);
    CHECK(result.follow == 1);
    CHECK(result.unknown == 1);
}

TEST_CASE("What was not measured is not equal") {
    const auto build = [](float number) {
        Writer writer;
        writer.begin(0, {{"arg0_1", 1}});
        writer.call("first", {{"arg0_1", 1}}, {{"buf0", 1, Role::writes}});
        writer.call("second", {{"buf0", number, Role::reads, {}, false}},
                    {{"buf1", number, Role::writes, {}, false}});
        writer.end({{"buf1", number, Role::reads, {}, false}});
        return writer.file;
    };
    const Comparison result = compared(build(3), build(4));
    CHECK(result.verdict() == Verdict::not_seen);
    CHECK(result.unknown == 1);
    CHECK(compared(recording({}), recording({})).verdict() == Verdict::equal);
}

TEST_CASE("A difference that an inner call makes begins there") {
    const auto build = [](float number) {
        Writer writer;
        writer.begin(0, {{"arg0_1", 1}});
        const std::uint32_t outer = writer.begin_call("outer", {{"arg0_1", 1}});
        writer.call("inner", {{"arg0_1", 1}}, {{"t", number, Role::writes}});
        writer.end_call("outer", outer, {{"buf0", number, Role::writes}});
        writer.end({{"buf0", number}});
        return writer.file;
    };
    const Comparison result = compared(build(3), build(4));
    REQUIRE(result.beginnings.size() == 1);
    CHECK(result.beginnings[0].site.kernel == "inner");
    CHECK(result.follow == 1);
}

TEST_CASE("Without the side after a call its updates are not taken for memory that changed") {
    const auto build = [](float number) {
        Writer writer;
        writer.begin(0, {{"arg0_1", 1}});
        writer.end_call("first", writer.begin_call("first", {{"buf0", 2, Role::updates}}), {});
        writer.end_call("second", writer.begin_call("second", {{"buf0", number}}), {});
        writer.end({{"buf0", number}});
        return writer.file;
    };
    const Comparison result = compared(build(3), build(4));
    REQUIRE(result.beginnings.size() == 1);
    CHECK(result.beginnings[0].origin == Origin::unseen);
}

TEST_CASE("A model that only one recording has is not compared with another one") {
    const auto replaced = [](std::string text, const std::string& old, const std::string& by) {
        for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += by.size())
            text.replace(at, old.size(), by);
        return text;
    };
    const std::string misc = replaced(recording({}), R"("name":"model")", R"("name":"misc")");
    const std::string second =
        replaced(replaced(misc, R"("model":0)", R"("model":1)"), R"("run":0)", R"("run":1)");
    const Comparison result = compared(recording({.input = 7}) + second, misc);
    CHECK(result.runs == 1);
    CHECK(result.equal == 2);
    CHECK(result.only_first_runs == 1);
    CHECK(result.runs_with_other_inputs == 0);
}

TEST_CASE("Runs are paired by their numbers, and those of threads by their order") {
    const auto build = [](std::uint32_t first_run, std::uint32_t runs) {
        Writer writer;
        for (std::uint32_t run = first_run; run < first_run + runs; ++run) {
            writer.begin(run, {{"arg0_1", static_cast<float>(run)}});
            writer.end({{"buf0", static_cast<float>(run)}});
        }
        return writer.file;
    };
    const Comparison slice = compared(build(0, 4), build(1, 2));
    CHECK(slice.runs == 2);
    CHECK(slice.runs_with_other_inputs == 0);
    CHECK(slice.only_first_runs == 2);
    CHECK(compared(build(0, 3), build(7, 3)).runs == 3);
}

TEST_CASE("Calls and runs without a partner are counted") {
    const Comparison result = compared(recording({}), recording({.has_extra = true}, kFull, 2));
    CHECK(result.only_second_calls == 1);
    CHECK(result.only_second == std::vector<std::string>{"extra"});
    CHECK(result.only_second_runs == 1);
    CHECK(result.equal == 2);
    CHECK(result.is_different());
}

TEST_CASE("Recordings without runs, and damaged ones, compare as far as they go") {
    const std::string whole = recording({}, kFull, 3);
    CHECK(compared("", "").runs == 0);
    CHECK(compared(whole, "not a recording\n").only_first_runs == 3);
    Random random(3);
    for (int round = 0; round < 500; ++round) {
        std::string damaged = whole.substr(0, random.below(whole.size() + 1));
        for (std::size_t i = random.below(4); i-- > 0 && !damaged.empty();)
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        const Comparison result = compared(whole, damaged);
        CHECK(result.runs + result.only_first_runs <= 3 + result.only_second_runs);
    }
}

TEST_CASE("Memory does not grow with the number of runs that lack a partner") {
    const Comparison result = compared(recording({}, kFull, 2000), recording({}, kFull, 1000));
    CHECK(result.runs == 1000);
    CHECK(result.only_first_runs == 1000);
}

}  // namespace
}  // namespace aoti_dbg::compare::comparison_test
