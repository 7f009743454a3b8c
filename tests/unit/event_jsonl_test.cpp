// events.jsonl as another reader sees it: nlohmann_json parses every line.
#include "serializer/event_jsonl.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::event_jsonl_test {
namespace {

using namespace test;
using nlohmann::json;

constexpr Requested kAll = Requested::printed | Requested::indices | Requested::hash;

std::vector<json> lines_of(const std::string& text) {
    std::vector<json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(json::parse(line));
    REQUIRE(text.back() == '\n');
    return lines;
}

std::vector<json> lines_of(const MeasuredCall& call) {
    std::string text;
    JsonlRenderer().render(call, text);
    return lines_of(text);
}

/// The one argument in the line of a call with it.
json argument_of(const MeasuredArgument& argument) {
    const SiteFacts site = site_of("kernel");
    return lines_of(call_of(EventSide::before, &site, {argument})).back()["arguments"][0];
}

TEST_CASE("Lines are JSON and UTF-8, whatever the bytes of the names") {
    std::string bytes;
    for (int byte = 255; byte >= 0; --byte)
        bytes += static_cast<char>(byte);
    bytes += "\xC3\xA9\xF0\x9F\x98\x80\xED\xA0\x80\xC0\x80";
    const SiteFacts site = site_of(bytes);
    const ArgumentFacts label = label_of(bytes);
    const std::vector<json> lines = lines_of(call_of(EventSide::before, &site, {scalar_of(label, bytes)}));
    const std::string kernel = lines.back()["kernel"];
    CHECK(kernel.find("\x1f\x1e") != std::string::npos);
    CHECK(kernel.substr(kernel.size() - 21) ==
          "\xC3\xA9\xF0\x9F\x98\x80\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(lines.back()["arguments"][0]["value"] == kernel);
}

TEST_CASE("A number that is not finite becomes a string, and the finite ones are reported too") {
    const float inf = std::numeric_limits<float>::infinity();
    const HeldTensor held(DType::float32, {5}, std::vector<float>{1, inf, std::nanf(""), -inf, 3});
    const ArgumentFacts label = label_of("buf0");
    const json argument = argument_of(held.measured(label, kAll));
    CHECK(argument["mean"] == "NaN");
    CHECK(argument["std"] == "NaN");
    CHECK(argument["nan"] == 1);
    CHECK(argument["pos_inf"] == 1);
    CHECK(argument["neg_inf"] == 1);
    CHECK(argument["first_nan"] == 2);
    CHECK(argument["first_nonfinite"] == 1);
    CHECK(argument["min_at"] == 2);
    CHECK(argument["finite"] ==
          json({{"count", 2}, {"mean", 2.0}, {"min", 1}, {"max", 3}, {"std", std::sqrt(2.0)}}));
    CHECK(argument["values"] == json({1, "Infinity", "NaN", "-Infinity", 3}));

    const HeldTensor fine(DType::float32, {1}, std::vector<float>{1});
    CHECK_FALSE(argument_of(fine.measured(label, kAll)).contains("finite"));
    CHECK_FALSE(argument_of(fine.measured(label, kAll)).contains("nan"));
}

TEST_CASE("Integers have all their digits, and so does their sum") {
    const ArgumentFacts label = label_of("buf0");
    const auto most = std::numeric_limits<std::uint64_t>::max();
    const HeldTensor held(DType::uint64, {2}, std::vector<std::uint64_t>{most, most - 1});
    const SiteFacts site = site_of("kernel");
    std::string text;
    JsonlRenderer().render(call_of(EventSide::before, &site, {held.measured(label, kAll)}), text);
    CHECK(text.find(R"("min":18446744073709551614,"max":18446744073709551615,)") != std::string::npos);
    CHECK(text.find(R"("sum":36893488147419103229)") != std::string::npos);
    CHECK(text.find(R"("values":[18446744073709551615,18446744073709551614])") != std::string::npos);
    const HeldTensor mask(DType::boolean, {3}, std::vector<std::uint8_t>{0, 1, 7});
    CHECK(argument_of(mask.measured(label))["values"] == json({false, true, true}));
    CHECK(argument_of(mask.measured(label))["zeros"] == 1);
}

TEST_CASE("A complex tensor has both of its parts") {
    const HeldTensor held(DType::complex64, {2}, std::vector<std::complex<float>>{{1, -2}, {3, 0}});
    const ArgumentFacts label = label_of("buf0");
    const json argument = argument_of(held.measured(label));
    CHECK(argument["real"]["mean"] == 2.0);
    CHECK(argument["imaginary"]["min"] == -2.0);
    CHECK(argument["imaginary"]["zeros"] == 1);
    CHECK(argument["values"] == json({{1, -2}, {3, 0}}));
    const json counted = argument_of(held.measured(label, Requested::findings));
    CHECK(counted["real"] == json::object());
}

TEST_CASE("An element of float4_e2m1fn_x2 has a pair of values, and statistics over all of them") {
    const HeldTensor held(DType::float4_e2m1fn_x2, {2}, std::vector<std::uint8_t>{0x71, 0x80});
    const ArgumentFacts label = label_of("buf0");
    const json argument = argument_of(held.measured(label, kAll));
    CHECK(argument["values"] == json({{0.5, 6}, {0, -0.0}}));
    CHECK(argument["mean"] == 1.625);
    CHECK(argument["max"] == 6);
    CHECK(argument["zeros"] == 2);
    CHECK(argument["max_at"] == 0);
    CHECK_FALSE(argument.contains("count"));
}

TEST_CASE("Numbers survive a round trip") {
    const HeldTensor held(DType::float32, {3}, std::vector<float>{0.1F, 0.7F, -1e-30F});
    const ArgumentFacts label = label_of("buf0");
    const MeasuredArgument measured = held.measured(label, kAll);
    const json argument = argument_of(measured);
    CHECK(argument["mean"].get<double>() == measured.statistics.real.all.mean);
    CHECK(argument["std"].get<double>() == measured.statistics.real.all.standard_deviation);
    CHECK(argument["max"].get<float>() == 0.7F);
    CHECK(argument["values"][2].get<float>() == -1e-30F);
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(measured.statistics.hash));
    CHECK(argument["hash"] == hash);
}

namespace {

/// Checks the line of the call in the test below, which is the last one.
void check_call(const std::vector<json>& lines) {
    const json& event = lines[4];
    CHECK(event["event"] == "call");
    CHECK(event["side"] == "after");
    CHECK(event["kernel"] == "aoti_torch_cuda_addmm_out");
    CHECK(event["site"] == lines[0]["id"]);
    CHECK(event["run"] == 3);
    CHECK(event["call"] == 12);
    CHECK(event["seq"] == 99);
    CHECK(event["model"] == 1);
    CHECK(event["nesting"] == 1);
    CHECK(event["result"] == -3);
    CHECK(event["stream"] == "0x10");
    CHECK(event["arguments"][0]["label"] == "l1_weight");
    CHECK(event["arguments"][0]["argument"] == lines[1]["id"]);
    CHECK(event["arguments"][0]["tensor"] == lines[2]["id"]);
    CHECK(event["arguments"][0]["dtype"] == "float32");
    CHECK(event["arguments"][0]["sizes"] == json({1, 2}));
    CHECK(event["arguments"][0]["measured_at"] == 7);
    CHECK(event["arguments"][1]["value"] == "8");
}

}  // namespace

TEST_CASE("A call has its place and time, and refers to definitions before it") {
    SiteFacts site = site_of("aoti_torch_cuda_addmm_out");
    site.symbol = "aoti_torch_cuda_addmm_out";
    site.kind = "op";
    site.site = 4;
    site.line = 321;
    site.source_nodes = {"linear"};
    site.original_aten = {"aten.addmm"};
    ArgumentFacts label = label_of("l1_weight");
    label.original_fqn = "l1.weight";
    label.position = 2;
    label.role = Role::reads;
    HeldTensor held(DType::float32, {1, 2}, std::vector<float>{1, 2});
    held.facts.device = "cuda:0";
    const ArgumentFacts size = label_of("s77");
    MeasuredArgument earlier = held.measured(label);
    earlier.measured = Measured::earlier;
    earlier.measured_at = 7;
    earlier.address = 0x7f00;
    const std::vector<MeasuredArgument> arguments = {earlier, scalar_of(size, "8")};
    MeasuredCall call = call_of(EventSide::after, &site, arguments);
    call.sequence = 99;
    call.model = 1;
    call.nesting = 1;
    call.result = -3;
    call.stream = 0x10;
    JsonlRenderer renderer;
    std::string text;
    renderer.render(call, text);
    const std::vector<json> lines = lines_of(text);
    REQUIRE(lines.size() == 5);
    CHECK(lines[0]["event"] == "site");
    CHECK(lines[0]["number"] == 4);
    CHECK(lines[0]["line"] == 321);
    CHECK(lines[0]["source_nodes"] == json({"linear"}));
    CHECK(lines[0]["original_aten"] == json({"aten.addmm"}));
    CHECK_FALSE(lines[0].contains("source"));
    CHECK_FALSE(lines[0].contains("python_stack"));
    CHECK(lines[1]["event"] == "argument");
    CHECK(lines[1]["fqn"] == "l1.weight");
    CHECK(lines[1]["role"] == "reads");
    CHECK(lines[1]["position"] == 2);
    CHECK(lines[2]["event"] == "tensor");
    CHECK(lines[2]["device"] == "cuda:0");
    CHECK(lines[2]["strides"] == json({2, 1}));
    check_call(lines);

    std::string again;
    renderer.render(call, again);
    CHECK(lines_of(again).size() == 1);
}

TEST_CASE("An unmeasured tensor has its reason") {
    HeldTensor held(DType::float32, {}, std::vector<float>{1});
    held.facts.sizes_known = false;
    const ArgumentFacts label = label_of("arg0");
    const json argument = argument_of(held.unmeasured(label, "the stream is capturing"));
    CHECK(argument["measured"] == "no");
    CHECK(argument["why"] == "the stream is capturing");
    CHECK_FALSE(argument.contains("sizes"));
    CHECK_FALSE(argument.contains("mean"));
}

TEST_CASE("A buffer that a call only writes is marked as unwritten before the call only") {
    ArgumentFacts output = label_of("buf0");
    output.role = Role::writes;
    const HeldTensor held(DType::float32, {1}, std::vector<float>{1});
    const auto argument_at = [&](EventSide side) {
        std::string text;
        JsonlRenderer().render(call_of(side, nullptr, {held.measured(output)}), text);
        return json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1))["arguments"][0];
    };
    CHECK(argument_at(EventSide::before)["unwritten"] == true);
    CHECK_FALSE(argument_at(EventSide::after).contains("unwritten"));
}

TEST_CASE("A tensor with PyTorch's conjugate or negative bit says so, and no other does") {
    const ArgumentFacts label = label_of("buf0");
    HeldTensor held(DType::complex64, {1}, std::vector<std::complex<float>>{{1, 2}});
    const auto text_of = [&] {
        std::string text;
        JsonlRenderer().render(call_of(EventSide::after, nullptr, {held.measured(label)}), text);
        return text;
    };
    CHECK(text_of().find("conjugate") == std::string::npos);
    held.facts.bits = {true, true};
    held.facts.number = next_facts_number();
    CHECK(text_of().find(R"("conjugate":true,"negative":true)") != std::string::npos);
}

TEST_CASE("Definitions that pile up are dropped with an event, and written again") {
    JsonlRenderer renderer;
    const SiteFacts site = site_of("kernel");
    std::string text;
    for (std::size_t i = 0; i <= kMostCachedFacts; ++i) {
        const ArgumentFacts label = label_of("buf");
        text.clear();
        renderer.render(call_of(EventSide::before, &site, {scalar_of(label, "1")}), text);
    }
    const std::vector<json> lines = lines_of(text);
    REQUIRE(lines.size() == 4);
    CHECK(lines[0]["event"] == "forget");
    CHECK(lines[1]["event"] == "site");
}

TEST_CASE("The model of a compiled function has what PyTorch says about it") {
    std::string text;
    const CompiledFunction function = {"backward", "7_backward", "2/1", "Net.forward", "net.py:12", ""};
    JsonlRenderer::render_model({1, "/tmp/a.py", title_of(function), function}, text);
    CHECK(lines_of(text)[0] == json({{"event", "model"},
                                     {"model", 1},
                                     {"name", "torch.compile 2/1 backward of Net.forward"},
                                     {"path", "/tmp/a.py"},
                                     {"graph", "7_backward"},
                                     {"direction", "backward"},
                                     {"compile", "2/1"},
                                     {"function", "Net.forward"},
                                     {"function_at", "net.py:12"}}));
}

TEST_CASE("Header, model and coverage are lines of their own") {
    std::string text;
    HeaderFacts header;
    header.pid = 42;
    header.command = "python \"x\" y";
    header.host = "node";
    header.rank = "3";
    header.start_ns = 1790000000000000000U;
    header.library = "0.1.0";
    JsonlRenderer::render_header(header, text);
    JsonlRenderer::render_model({1, "/tmp/a.so", "a"}, text);
    const std::vector<NamedCount> counts = {{"calls", 7}, {"lost", 0}};
    JsonlRenderer::render_coverage(counts, text);
    const std::vector<json> lines = lines_of(text);
    CHECK(lines[0] == json({{"event", "header"},
                            {"format", "aoti-dbg-events"},
                            {"version", 1},
                            {"pid", 42},
                            {"command", "python \"x\" y"},
                            {"host", "node"},
                            {"rank", "3"},
                            {"start_ns", 1790000000000000000U},
                            {"library", "0.1.0"}}));
    CHECK(lines[1] == json({{"event", "model"}, {"model", 1}, {"name", "a"}, {"path", "/tmp/a.so"}}));
    CHECK(lines[2]["counts"] == json({{"calls", 7}, {"lost", 0}}));
}

}  // namespace
}  // namespace aoti_dbg::event_jsonl_test
