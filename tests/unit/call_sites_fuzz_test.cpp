// Feeds damaged and hostile wrapper sources to the reader of call sites, with fixed random numbers. Counts
// the work instead of timing it: it must stay proportional to the text. Also meant for the sanitizer builds.

#include <string>
#include <string_view>
#include <vector>

#include "model/call_matcher.hpp"
#include "model/reading_limits.hpp"
#include "model/tensor_layout.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/call_sites_fixture.hpp"

namespace aoti_dbg::call_sites_fuzz_test {
namespace {

/// Steps that reading may take for each byte of text. Real sources take a fifth of one.
constexpr std::uint64_t kStepsPerByte = 4;

void check_tensors(const std::vector<TensorName>& tensors) {
    for (const TensorName& tensor : tensors) {
        REQUIRE(tensor.name.size() <= kMaxText);
    }
}

void check_body(const RunBody& body) {
    REQUIRE(body.sites.size() <= kMaxSites);
    std::size_t calls = 0;
    for (const FlowStep& step : body.flow) {
        if (step.kind == FlowStep::Kind::call) REQUIRE(step.value == calls++);
    }
    REQUIRE(calls == body.sites.size());
    for (const CallSite& site : body.sites) {
        REQUIRE_FALSE(site.function.empty());
        REQUIRE((site.region == kNone || site.region < body.regions.size()));
        for (const Argument& argument : site.arguments) {
            REQUIRE(argument.text.size() <= kMaxText);
            check_tensors(argument.tensors);
            if (argument.kind == ArgumentKind::tensor) REQUIRE(argument.tensors.size() == 1);
        }
    }
    for (const SharedMemory& memory : body.shared_memory) {
        REQUIRE(memory.from <= body.sites.size());
    }
    REQUIRE(body.outputs.size() <= kMaxPositions);
    check_tensors(body.outputs);

    const CallPlan plan(body);
    CallMatcher matcher(plan);
    for (const CallSite& site : body.sites) {
        const CallMatcher::Match match = matcher.match(plan.id_of(site.key));
        REQUIRE(match.site < body.sites.size());
        REQUIRE(body.sites[match.site].key == site.key);
    }
}

void check_guards(const std::vector<InputGuard>& guards) {
    std::size_t entries = 0;
    for (const InputGuard& guard : guards) {
        REQUIRE(guard.position < kMaxPositions);
        entries += guard.sizes.size() + guard.strides.size();
    }
    REQUIRE(entries <= kMaxEntries);
}

/// Asks for one call each, as a report does, and picks the last ones, which have the most before them.
void check_layouts(const WrapperInfo& info) {
    constexpr std::size_t kAsked = 16;
    const std::vector<CallSite>& sites = info.run.sites;
    std::size_t left = kAsked;
    for (std::size_t at = sites.size(); at-- > 0 && left > 0;) {
        for (const Argument& argument : sites[at].arguments) {
            if (argument.tensors.empty() || left == 0) continue;
            --left;
            const TensorLayout layout =
                layout_of(info, static_cast<std::uint32_t>(at), argument.tensors.front());
            REQUIRE(layout.sizes.size() == layout.strides.size());
            REQUIRE(layout.sizes_as_known({}).size() == layout.sizes.size());
            if (layout.bytes({}) != 0) REQUIRE(layout.has_sizes);
            Symbols symbols;
            solve_by_bytes(info, layout.name, 4096, symbols);
            for (const auto& [name, value] : symbols)
                REQUIRE(value > 0);
        }
    }
}

WrapperInfo check(std::string_view text, std::string_view json = {}) {
    WrapperInfo info = read_wrapper(text, json, json);
    REQUIRE(info.steps <= 64 + kStepsPerByte * (text.size() + 2 * json.size()));
    check_body(info.run);
    check_layouts(info);
    check_body(info.folding);
    check_guards(info.input_guards);
    for (const CallSite& site : info.run.sites) {
        REQUIRE((site.kernel == kNone || site.kernel < info.triton_kernels.size()));
    }
    return info;
}

const std::vector<std::string>& seeds() {
    static const std::vector<std::string> texts = {test_data("linear_softmax.released.cpp.txt"),
                                                   test_data("dynamic_batch.printer.cpp.txt"),
                                                   test_data("fallback_ops.released.cpp.txt"),
                                                   test_data("control_flow.released.cpp.txt"),
                                                   test_data("custom_op.released.cpp.txt"),
                                                   test_data("dynamic_batch.checks.cpp.txt"),
                                                   std::string(kCudaWrapper)};
    return texts;
}

void damage(std::string& text, Random& random) {
    static constexpr std::string_view kSpice = "\"'\\/*(){}[]<>,;=:.R#&\n\r\0\xff_0e";
    const std::size_t place = random.below(text.size() + 1);
    const std::string& other = seeds()[random.below(seeds().size())];
    switch (random.below(6)) {
        case 0:
            text.insert(place, 1, kSpice[random.below(kSpice.size())]);
            break;
        case 1:
            text.insert(place, other.substr(random.below(other.size()), random.below(400)));
            break;
        case 2:
            text.erase(place, 1 + random.below(80));
            break;
        case 3:
            if (random.one_in(8)) text.resize(place);
            break;
        case 4:
            text.append(text.substr(place, random.below(400)));
            break;
        default:
            if (place < text.size()) text[place] = static_cast<char>(random.below(256));
    }
    if (text.size() > 20000) text.resize(20000);
}

TEST_CASE("Damaged sources are read without harm and in time, and the results make sense") {
    Random random;
    const std::string json = test_data("custom_op.json");
    std::string text;
    std::string nodes;
    for (int round = 0; round < 3000; ++round) {
        if (round % 24 == 0) {
            text = seeds()[static_cast<std::size_t>(round / 24) % seeds().size()];
            nodes = json;
        }
        damage(text, random);
        if (!nodes.empty()) nodes[random.below(nodes.size())] = static_cast<char>(' ' + random.below(90));
        check(text, random.one_in(2) ? std::string_view(json) : std::string_view(nodes));
    }
}

TEST_CASE("A source that ends anywhere is read up to there") {
    for (const std::string& text : seeds()) {
        std::size_t sites = 0;
        for (std::size_t length = 0; length <= text.size(); length += 37) {
            const WrapperInfo info = check(text.substr(0, length));
            REQUIRE(info.run.sites.size() >= sites);
            sites = info.run.sites.size();
        }
    }
}

TEST_CASE("Random bytes are read without harm") {
    Random random;
    for (int round = 0; round < 300; ++round) {
        std::string text = "void AOTInductorModel::run_impl(int) {";
        for (std::size_t length = random.below(3000); length > 0; --length) {
            text.push_back(static_cast<char>(random.below(256)));
        }
        check(text);
    }
}

/// `piece` over and over inside a body.
std::string flood(const std::string& piece, std::size_t bytes, const std::string& before = {}) {
    std::string text = "void AOTInductorModel::run_impl(int) {\n" + before;
    while (text.size() < bytes) {
        text += piece;
    }
    return text;
}

TEST_CASE("Under endless repetition, work stays proportional and memory within the limits") {
    const std::string piece = GENERATE(
        "(", "{", "[", "}", ";", "if (a) {", "} else if (a) {", "while (1) {", "if (x) break;", "R\"", "/*",
        "//", "&(", "(a)(", "std::move(", "reinterpret_tensor_wrapper(", "a::", "check_input_7(a) {",
        "if (1 != a_size[9]) {", "reinterpret_cast<", "<", "array<", "cpp_a(x);",
        "aoti_torch_cpu_relu(buf0);", "aoti_torch_clone(a, &b);", "// Source Nodes: [a, b]\n",
        "auto a = std::move(buf0);", "x = {a};", "output_handles[99999999999] = buf0.release();", "'", "\"");
    CAPTURE(piece);
    check(flood(piece, 200000));
    check(flood(piece, 200000, "cpp_a("));
    check(flood(piece, 200000, "auto b = "));
}

TEST_CASE("An endless argument list is kept up to the limit, with a message") {
    const WrapperInfo info = check(flood("a, ", std::size_t{3} << 20U, "cpp_a(") + "b); cpp_b(c); }");
    REQUIRE_FALSE(info.run.sites.empty());
    CHECK(info.run.sites[0].has_more_arguments);
    CHECK(info.run.sites[0].arguments.size() <= kMaxEntries);
}

TEST_CASE("Names that abbreviate a long text do not multiply it") {
    const std::string view =
        "auto var_0 = reinterpret_tensor_wrapper(buf0, 1, {" + std::string(100000, '1') + "}, s, 0L);\n";
    const WrapperInfo info =
        check(flood("aoti_torch_cpu_relu(var_0);\n", 400000, "RAIIAtenTensorHandle buf0;\n" + view));
    std::size_t kept = 0;
    for (const CallSite& site : info.run.sites) {
        REQUIRE(site.arguments.size() == 1);
        if (!site.arguments[0].tensors.empty() && site.arguments[0].tensors[0].view) {
            kept += site.arguments[0].tensors[0].view->sizes.size();
        }
    }
    CHECK(kept > 0);
    CHECK(kept <= kMaxKeptText);
}

}  // namespace
}  // namespace aoti_dbg::call_sites_fuzz_test
