// Feeds damaged texts to the readers of model/: texts cut, repeated, mixed and altered with fixed random
// numbers. Meant for the sanitizer builds; other builds still check what must hold for any result.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/package.hpp"
#include "model/source_lexer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::package_fuzz_test {
namespace {

constexpr int kRounds = 20000;
constexpr std::size_t kLongest = 4096;

const std::vector<std::string>& seeds() {
    static const std::vector<std::string> texts = {
        R"seed(extern "C"  void  cpp_fused_relu_0(float* in_out_ptr0,
    const at::Half* in_ptr0, const int64_t ks0, double* out_ptr0, const float zuf0, bool flag);
)seed",
        R"seed(extern "C" __attribute__((noinline)) void cpp_fused_1(const std::array<int64_t, 3>& a, void (*f)(int));
)seed",
        R"seed(// r'''
// @triton.jit
// def triton_(in_ptr0, xnumel, XBLOCK : tl.constexpr):
/* 'x' " */
)seed",
        R"seed(kernels_.triton_0 = loadKernel("/tmp/t/c2ee.cubin", "triton_0", 16, cubin_dir_);
kernels_.k = loadKernel(__k_start, "k\\\"", 0);
)seed",
        R"seed(auto s = R"ab(text)" )a")ab"; char c = '\'';
)seed",
        R"seed({"nodes": [{"name": "buf1", "node": {"target": "mylib::op", "inputs": [{"arg": {"as_float": -1.5e3,
"as_string": "\u00e9"}}], "outputs": [], "metadata": {}}}, null, [1, true]]})seed",
    };
    return texts;
}

/// A part of one of the seeds.
std::string stretch(Random& random) {
    const std::string& seed = seeds()[random.below(seeds().size())];
    const std::size_t start = random.below(seed.size());
    return seed.substr(start, 1 + random.below(seed.size() - start));
}

void damage(std::string& text, Random& random) {
    static constexpr std::string_view kSpice = "\"'\\/*(){}[]<>,;=:.R#\n\r\0\xff_0e";
    const std::size_t place = random.below(text.size() + 1);
    switch (random.below(5)) {
        case 0:
            text.insert(place, 1, kSpice[random.below(kSpice.size())]);
            break;
        case 1:
            text.insert(place, stretch(random));
            break;
        case 2:
            text.erase(place, 1 + random.below(8));
            break;
        case 3:
            text.resize(place);
            break;
        default:
            if (place < text.size()) text[place] = static_cast<char>(random.below(256));
    }
    if (text.size() > kLongest) text.resize(kLongest);
}

void check(const std::string& text) {
    CAPTURE(text);
    PackageInfo info;
    read_cpp_prototypes(text, info);
    read_triton_kernels(text, info);
    read_proxy_ops(text, info);
    for (const auto& [name, prototype] : info.cpp_kernels) {
        REQUIRE(name.substr(0, 4) == "cpp_");
        REQUIRE(prototype.integers + prototype.floats <= text.size());
    }
    for (const TritonKernel& kernel : info.triton_kernels) {
        REQUIRE_FALSE(kernel.name.empty());
        REQUIRE_FALSE(kernel.function.empty());
        REQUIRE(kernel.cubin.find('/') == std::string::npos);
    }
    REQUIRE(info.proxy_ops.size() <= text.size());
}

TEST_CASE("Damaged sources and JSON are read without harm, and the results make sense") {
    Random random;
    std::string text;
    for (int round = 0; round < kRounds; ++round) {
        if (round % 16 == 0) text = seeds()[static_cast<std::size_t>(round / 16) % seeds().size()];
        damage(text, random);
        check(text);
    }
}

TEST_CASE("The lexer's tokens lie in the text, in sequence, and end") {
    Random random;
    for (int round = 0; round < kRounds / 10; ++round) {
        std::string text = stretch(random) + stretch(random);
        for (int times = 0; times < 8; ++times) {
            damage(text, random);
        }
        CAPTURE(text);
        SourceLexer lexer(text);
        const char* last = text.data();
        std::size_t tokens = 0;
        for (Token token = lexer.next(); token.kind != Token::Kind::end; token = lexer.next()) {
            REQUIRE(token.text.data() >= last);
            REQUIRE(token.text.data() + token.text.size() <= text.data() + text.size());
            last = token.text.data() + token.text.size();
            REQUIRE(++tokens <= text.size());
        }
        REQUIRE(lexer.next().kind == Token::Kind::end);
    }
}

}  // namespace
}  // namespace aoti_dbg::package_fuzz_test
