// A finding as text and as JSON: hostile lines first, then that everything survives a round trip and reads
// well.
#include "serializer/finding.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"
#include "tests/unit/options_fixture.hpp"

namespace aoti_dbg::finding_test {
namespace {

Finding example() {
    Finding finding;
    finding.number = 3;
    finding.kernel = "triton_per_fused__softmax_1";
    finding.symbol = "aoti_torch_softmax";
    finding.site = 7;
    finding.line = 812;
    finding.source_nodes = {"softmax"};
    finding.original_aten = {"aten._softmax"};
    finding.sequence = ~std::uint64_t{0};
    finding.time_ns = 5;
    finding.thread = 6;
    finding.stream = 0x7f3a00000010;
    finding.model = 0;
    finding.run = 2;
    finding.call = 9;
    finding.tensor.label = "buf2";
    finding.tensor.role = Role::makes;
    finding.tensor.dtype = "float32";
    finding.tensor.device = "cuda:0";
    finding.tensor.sizes_known = true;
    finding.tensor.sizes = {2, 2};
    TensorStatistics& statistics = finding.tensor.statistics;
    statistics.requested = Requested::printed;
    statistics.count = 4;
    statistics.real.nan = 2;
    statistics.real.first_nan = 2;
    statistics.real.all = {4, {}, {}, std::nan(""), std::nan("")};
    statistics.real.all.minimum.floating = -std::numeric_limits<double>::infinity();
    statistics.real.finite = {2, {}, {}, 0.5, 0.125};
    statistics.real.finite.maximum.floating = 1;
    finding.elements = 2;
    finding.first = {2, 3};
    finding.pattern = "the row [1, :]";
    FindingTensor input;
    input.label = "l1_bias";
    input.original_fqn = "l1.bias";
    input.dtype = "int64";
    input.role = Role::reads;
    input.sizes_known = true;
    input.is_earlier = true;
    input.measured_at = 4;
    input.statistics.dtype = DType::int64;
    input.statistics.requested = Requested::printed;
    input.statistics.count = 1;
    input.statistics.real.all.count = 1;
    input.statistics.real.all.minimum = {Number::Kind::signed_integer, 0, -9007199254740993, 0};
    input.statistics.real.all.maximum = {Number::Kind::unsigned_integer, 0, 0, ~std::uint64_t{0}};
    FindingTensor unmeasured;
    unmeasured.label = "buf0";
    unmeasured.unmeasured = "the stream is capturing";
    FindingTensor scalar;
    scalar.label = "dim";
    scalar.scalar = "-1";
    finding.inputs = {input, unmeasured, scalar};
    finding.also = {finding.tensor};
    finding.notes = {"something is uncertain"};
    finding.suppression = "nan in triton_per_fused__softmax_1 - buf2";
    return finding;
}

std::string json_of(const Finding& finding) {
    std::string line;
    append_finding_json(finding, line);
    return line;
}

}  // namespace

TEST_CASE("Lines that are not findings are refused") {
    const std::string line =
        GENERATE("", "{", "[]", "null", "{}", R"({"event":"call"})", R"({"event":"finding"})",
                 R"({"event":"finding","version":2,"kind":"nan"})",
                 R"({"event":"finding","version":1,"kind":"zero"})", R"({"event":1,"version":"1"})");
    CAPTURE(line);
    CHECK_FALSE(read_finding(line).ok());
    CHECK_FALSE(read_finding(std::string(100000, '[')).ok());
}

TEST_CASE("Members of a wrong type or size are skipped") {
    const Result<Finding> read = read_finding(
        R"({"event":"finding","version":1,"kind":"inf","number":-1,"kernel":7,"site":4294967296,"first":[1,"x"],)"
        R"("tensor":[],"inputs":{"a":1},"also":[3],"notes":[1,"n"],"elements":1e99})");
    REQUIRE(read.ok());
    CHECK(read.value().number == 0);
    CHECK(read.value().kernel.empty());
    CHECK(read.value().site == ~0U);
    CHECK(read.value().first == std::vector<std::uint64_t>{1});
    CHECK(read.value().also.size() == 1);
    CHECK(read.value().notes == std::vector<std::string>{"n"});
}

TEST_CASE("A stream written as a number is read, and an invalid one is skipped") {
    const auto stream_of = [](const std::string& stream) {
        const Result<Finding> read =
            read_finding(R"({"event":"finding","version":1,"kind":"nan","stream":)" + stream + "}");
        REQUIRE(read.ok());
        return read.value().stream;
    };
    CHECK(stream_of("8") == 8);
    CHECK(stream_of(R"("0x1f")") == 31);
    CHECK(stream_of(R"("0xffffffffffffffff")") == ~std::uint64_t{0});
    for (const char* none :
         {"-8", "1e3", R"("0x")", R"("0x1g")", R"("1f")", R"("0x10000000000000000")", "[]"}) {
        CAPTURE(none);
        CHECK(stream_of(none) == 0);
    }
}

TEST_CASE("Damaged lines are read or refused, and what is read can be written") {
    Random random(7);
    const std::string good = json_of(example());
    std::size_t read = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string line = good;
        for (std::size_t i = 1 + random.below(3); i > 0; --i)
            line[random.below(line.size())] = static_cast<char>(random.below(256));
        if (random.one_in(4)) line.resize(random.below(line.size()));
        const Result<Finding> finding = read_finding(line);
        if (!finding.ok()) continue;
        ++read;
        std::string text;
        append_finding_text(finding.value(), text);
        if (!read_finding(json_of(finding.value())).ok()) FAIL("it cannot be read again: " << line);
    }
    CHECK(read > 100);
}

TEST_CASE("A finding that is written and read is the same, and is one line") {
    const std::string line = json_of(example());
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(line.rfind(R"({"event":"finding","version":1,"kind":"nan")", 0) == 0);
    const Result<Finding> read = read_finding(line);
    REQUIRE(read.ok());
    CHECK(json_of(read.value()) == line);
    const Finding& finding = read.value();
    CHECK(finding.sequence == ~std::uint64_t{0});
    CHECK(contains(line, R"("stream":"0x7f3a00000010")"));
    CHECK(finding.stream == 0x7f3a00000010);
    CHECK(finding.first == std::vector<std::uint64_t>{2, 3});
    CHECK(finding.tensor.statistics.real.nan == 2);
    CHECK(std::isinf(finding.tensor.statistics.real.all.minimum.floating));
    CHECK(std::isnan(finding.tensor.statistics.real.all.mean));
    REQUIRE(finding.inputs.size() == 3);
    CHECK(finding.inputs[0].statistics.real.all.minimum.signed_integer == -9007199254740993);
    CHECK(finding.inputs[0].statistics.real.all.maximum.unsigned_integer == ~std::uint64_t{0});
    CHECK(finding.inputs[0].measured_at == 4);
    CHECK(finding.inputs[1].unmeasured == "the stream is capturing");
    CHECK(finding.inputs[2].scalar == "-1");
}

TEST_CASE("A finding is a block that says what, where, from which inputs, and what to paste") {
    std::string text;
    append_finding_text(example(), text);
    CHECK(text ==
          "[ finding 3: NaN in buf2, first made by triton_per_fused__softmax_1 ]\n"
          "  code       AD1102 (see: aoti-dbg explain AD1102)\n"
          "  function   aoti_torch_softmax\n"
          "  where      model 0, run 2, call 9, line 812 of the wrapper source\n"
          "  ATen       aten._softmax\n"
          "  nodes      softmax\n"
          "  output     buf2 float32[2, 2]: 2 NaN; the rest min 0, max 1, mean 0.5\n"
          "  elements   2 of 4 are NaN: the row [1, :]; first at [1, 0], [1, 1]\n"
          "  also in    buf2 float32[2, 2]: 2 NaN; the rest min 0, max 1, mean 0.5\n"
          "  inputs     l1_bias (l1.bias) int64[]: all finite; min -9007199254740993, max "
          "18446744073709551615, mean 0 (as of call 4)\n"
          "             buf0: not measured, the stream is capturing\n"
          "             dim = -1\n"
          "  but        something is uncertain\n"
          "  suppress   nan in triton_per_fused__softmax_1 - buf2\n");
}

TEST_CASE("A finding of a captured launch shows the command that replays it, which its event lacks") {
    Finding finding = example();
    finding.replay = "aoti-dbg replay out/launches/run0002-call0009.json";
    std::string text;
    append_finding_text(finding, text);
    CHECK(text.find("\n  replay     aoti-dbg replay out/launches/run0002-call0009.json\n  suppress ") !=
          std::string::npos);
    CHECK(json_of(finding) == json_of(example()));
}

TEST_CASE("A line from a line table names its file, and a Python stack keeps its lines") {
    Finding finding = example();
    finding.source = "/tmp/c\x1b.wrapper.cpp";
    finding.python_stack = {"File \"m.py\", line 6, in forward", "    y = self.l(x)"};
    std::string text;
    append_finding_text(finding, text);
    CHECK(text.find("call 9, /tmp/c?.wrapper.cpp:812\n") != std::string::npos);
    CHECK(text.find("  python     File \"m.py\", line 6, in forward\n                 y = self.l(x)\n") !=
          std::string::npos);
    std::string line;
    append_finding_json(finding, line);
    const Result<Finding> read = read_finding(line);
    REQUIRE(read.ok());
    CHECK(read.value().source == finding.source);
    CHECK(read.value().python_stack == finding.python_stack);
}

TEST_CASE("The Python line of the kernel replaces its stack, and comes before a caller") {
    Finding finding = example();
    finding.python_stack = {"File \"m.py\", line 6, in forward"};
    finding.python_lines = {"net.py:9 in forward: x = self.l1(x)", "net.py:10 in \x1b: y"};
    finding.pre_grad_nodes = {"linear"};
    finding.post_grad_nodes = {"addmm"};
    finding.origin = "package";
    const std::string lines =
        "\n  python     net.py:9 in forward: x = self.l1(x)\n             net.py:10 in ?: y\n";
    std::string text;
    append_finding_text(finding, text);
    CHECK(text.find(lines) != std::string::npos);
    CHECK(text.find("m.py\"") == std::string::npos);
    finding.model_name = "torch.compile 0/0 forward of Net.forward";
    append_finding_text(finding, text);
    CHECK(text.find(lines + "  caller     File \"m.py\", line 6, in forward\n") != std::string::npos);
    std::string line;
    append_finding_json(finding, line);
    const Result<Finding> read = read_finding(line);
    REQUIRE(read.ok());
    CHECK(read.value().python_lines == finding.python_lines);
    CHECK(read.value().pre_grad_nodes == finding.pre_grad_nodes);
    CHECK(read.value().post_grad_nodes == finding.post_grad_nodes);
    CHECK(read.value().origin == "package");
}

TEST_CASE("A finding in a compiled function says which one") {
    Finding finding = example();
    finding.model_name = "torch.compile 0/0 backward of f";
    std::string text;
    append_finding_text(finding, text);
    CHECK(text.find(" (torch.compile 0/0 backward of f), run ") != std::string::npos);
    std::string line;
    append_finding_json(finding, line);
    const Result<Finding> read = read_finding(line);
    REQUIRE(read.ok());
    CHECK(read.value().model_name == finding.model_name);
}

TEST_CASE("A sentence says the code, the finding and the place") {
    Finding finding = example();
    CHECK(finding_sentence(finding) ==
          "aoti-dbg AD1102: NaN in buf2, first made by triton_per_fused__softmax_1 (model 0, run 2, call 9, "
          "line 812 "
          "of the wrapper source)");
    finding.kernel = "two\nlines";
    CHECK_FALSE(contains(finding_sentence(finding), "\n"));
}

TEST_CASE("A wrong argument has the expected and the actual value, and survives JSON") {
    Finding finding = example();
    finding.kind = Finding::Kind::argument;
    finding.check = "dtype";
    finding.expected = "float32";
    finding.found = "float64";
    finding.advice = "convert it";
    finding.suppression = "args in k - buf2";
    finding.notes.clear();
    CHECK(argument_title(finding) ==
          "triton_per_fused__softmax_1 result buf2: expected dtype float32, got float64");
    finding.tensor.role = Role::reads;
    CHECK(argument_title(finding) ==
          "triton_per_fused__softmax_1 argument buf2: expected dtype float32, got float64");
    std::string text;
    append_finding_text(finding, text);
    CHECK(contains(text,
                   "  argument   buf2 float32[2, 2] on cuda:0\n  expected   float32\n  got        float64\n"
                   "  try        convert it\n  suppress   args in k - buf2\n"));
    CHECK(contains(text, "  code       AD1201 (see: aoti-dbg explain AD1201)\n"));
    CHECK_FALSE(contains(text, "elements"));
    finding.kernel = kModelInputs;
    CHECK(argument_title(finding) == "model input buf2: expected dtype float32, got float64");
    finding.tensor.label.clear();
    CHECK(argument_title(finding) == "model: expected dtype float32, got float64");
    const Result<Finding> back = read_finding(json_of(finding));
    REQUIRE(back.ok());
    CHECK(back.value().kind == Finding::Kind::argument);
    CHECK(json_of(back.value()) == json_of(finding));
}

TEST_CASE("Names cannot break a block, a line of JSON or a terminal") {
    Finding finding = example();
    finding.kernel = "a\nb\x1b[31m\xff";
    finding.tensor.label = "c\rd";
    std::string text;
    append_finding_text(finding, text);
    CHECK(contains(text, "NaN in c?d, first made by a?b?[31m"));
    const std::string line = json_of(finding);
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(read_finding(line).ok());
}

TEST_CASE("An index beyond the sizes is reported as a number") {
    CHECK(index_text(5, {2, 3}) == "[1, 2]");
    CHECK(index_text(6, {2, 3}) == "6");
    CHECK(index_text(0, {}) == "[]");
    CHECK(index_text(3, {0, 2}) == "3");
    CHECK(index_text(3, {-1}) == "3");
}

}  // namespace aoti_dbg::finding_test
