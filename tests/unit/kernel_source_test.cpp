// Lines of a kernel's own source, from the wrapper source's comment: broken texts and similar names first,
// then what a line reads or writes.
#include "model/kernel_source.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::kernel_source_test {
namespace {

/// The block in PyTorch's form; line 1 is the rest of the line with the kernel's name.
std::string block_of(const std::string& kernel, const std::string& source) {
    return "    async_compile.triton('" + kernel + "', '''" + source + "    ''', device_str='cuda')\n";
}

std::string wrapped(const std::string& blocks) {
    return "#include <torch/csrc/inductor/aoti_runtime/interface.h>\n/*\n" + blocks +
           "*/\nnamespace torch::aot_inductor {}\n";
}

/// The source of `kernel`, with parameters in PyTorch's form. The `statements` start at line 6.
std::string source_of(const std::string& kernel, const std::string& statements) {
    return "\nimport triton\nimport triton.language as tl\n@triton.jit\ndef " + kernel +
           "(in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr):\n" + statements;
}
constexpr std::uint32_t kStatement = 6;

KernelLine line_with(const std::string& statement) {
    const std::string wrapper = wrapped(block_of("k", source_of("k", "    " + statement + "\n")));
    const std::optional<KernelLine> line = find_kernel_line(wrapper, "k", kStatement);
    REQUIRE(line);
    CHECK(line->text == statement);
    return *line;
}

std::string parameter_of(const std::string& statement) {
    return line_with(statement).parameter;
}

}  // namespace

TEST_CASE("Without such a kernel, line or source, the result is empty") {
    const std::string wrapper = wrapped(block_of("k", source_of("k", "    pass\n")));
    CHECK_FALSE(find_kernel_line("", "k", 1));
    CHECK_FALSE(find_kernel_line(wrapper, "", 1));
    CHECK_FALSE(find_kernel_line(wrapper, "other", kStatement));
    CHECK_FALSE(find_kernel_line(wrapper, "k", 0));
    CHECK_FALSE(find_kernel_line(wrapper, "k", 8));
    CHECK_FALSE(find_kernel_line(wrapper, "k", 0xffffffff));
    CHECK(find_kernel_line(wrapper, "k", kStatement)->text == "pass");
}

TEST_CASE("The source of a kernel is found by its name") {
    const std::string wrapper = wrapped(block_of("k", "# one\n") + block_of("k2", "# two\n"));
    CHECK(find_kernel_source(wrapper, "k2") == "# two\n    ");
    CHECK(find_kernel_source(wrapper, "k3").empty());
    CHECK(find_kernel_source("k = async_compile.triton('k', '''\npass\n''')", "k") == "\npass\n");
}

TEST_CASE("Blank lines have no text, and the rest of the line with the name is the first line") {
    const std::string wrapper = wrapped(block_of("k", "# one\n\n \t\n    # four\r\n"));
    CHECK(find_kernel_line(wrapper, "k", 1)->text == "# one");
    CHECK_FALSE(find_kernel_line(wrapper, "k", 2));
    CHECK_FALSE(find_kernel_line(wrapper, "k", 3));
    CHECK(find_kernel_line(wrapper, "k", 4)->text == "# four");
    // The text before the closing quotes.
    CHECK_FALSE(find_kernel_line(wrapper, "k", 5));
    CHECK_FALSE(find_kernel_line(wrapper, "k", 6));
}

TEST_CASE("A source without closing quotes extends to the end of the file") {
    const std::string wrapper = "async_compile.triton('k', '''\n    tl.store(p, 1)";
    CHECK(find_kernel_line(wrapper, "k", 2)->text == "tl.store(p, 1)");
    CHECK_FALSE(find_kernel_line(wrapper, "k", 3));
    CHECK_FALSE(find_kernel_line("async_compile.triton('k', '''", "k", 1));
    CHECK_FALSE(find_kernel_line("async_compile.triton('k', ''", "k", 1));
    CHECK(find_kernel_line("async_compile.triton('k', '''x", "k", 1)->text == "x");
}

TEST_CASE("A kernel whose name is the start or end of another's is not taken for it") {
    const std::string wrapper =
        wrapped(block_of("triton_poi_0_1", "# first\n") + block_of("triton_poi_0", "# second\n") +
                block_of("poi_0", "# third\n"));
    CHECK(find_kernel_line(wrapper, "triton_poi_0", 1)->text == "# second");
    CHECK(find_kernel_line(wrapper, "triton_poi_0_1", 1)->text == "# first");
    CHECK(find_kernel_line(wrapper, "poi_0", 1)->text == "# third");
    CHECK_FALSE(find_kernel_line(wrapper, "triton_poi", 1));
}

TEST_CASE("Arbitrary bytes give nothing") {
    Random random(7);
    const std::string sound = wrapped(block_of("k", source_of("k", "    tl.load(in_ptr0 + (x0), None)\n")));
    for (int round = 0; round < 3000; ++round) {
        std::string bytes = sound;
        for (int i = 0; i < 4; ++i)
            bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        bytes.resize(random.below(bytes.size() + 1));
        // A copy of exactly its size, so that a sanitizer sees any read beyond it.
        const std::vector<char> exact(bytes.begin(), bytes.end());
        for (std::uint32_t line = 0; line < 9; ++line) {
            const auto found = find_kernel_line({exact.data(), exact.size()}, "k", line);
            if (found) REQUIRE(bytes.find(found->text) != std::string::npos);
        }
    }
}

TEST_CASE("A load reads, a store and an atomic operation write, through the parameter they name") {
    const KernelLine load = line_with("tmp0 = tl.load(in_ptr1 + (x0), xmask)");
    CHECK(load.parameter == "in_ptr1");
    CHECK_FALSE(load.is_write);
    const KernelLine store = line_with("tl.store(out_ptr0 + (x0), tmp0, xmask)");
    CHECK(store.parameter == "out_ptr0");
    CHECK(store.is_write);
    const KernelLine atomic = line_with("tl.atomic_add(out_ptr0 + (tmp1), tmp0, None, sem='relaxed')");
    CHECK(atomic.parameter == "out_ptr0");
    CHECK(atomic.is_write);
    const KernelLine none = line_with("tmp2 = tmp0 + tmp1");
    CHECK(none.parameter.empty());
}

TEST_CASE("The pointer is found in the first argument, whatever parentheses and commas are in it") {
    CHECK(parameter_of("tl.load((in_ptr0 + (x0 + 64*x1)), xmask, other=in_ptr1)") == "in_ptr0");
    CHECK(parameter_of("tl.load(libdevice.pick(in_ptr1, [0, 1]), None)") == "in_ptr1");
    CHECK(parameter_of("tl.store(out_ptr0 + (tl.broadcast_to(x0, [XBLOCK, 1])), tmp0, in_ptr0)") ==
          "out_ptr0");
    // A stored value is not a pointer.
    CHECK(parameter_of("tl.store(p, out_ptr0)").empty());
    // Nor is a longer name that contains the pointer's.
    CHECK(parameter_of("tl.load(in_ptr01 + x0)").empty());
    CHECK(parameter_of("tl.load(my_in_ptr0 + x0)").empty());
    // The rest of the statement is on the next line.
    CHECK(parameter_of("tl.load(in_ptr0 + (x0").compare("in_ptr0") == 0);
}

TEST_CASE("The names of types and modules are not taken for parameters") {
    CHECK(parameter_of("tl.load(tl.make_block_ptr(in_ptr1, shape=[64], strides=[1]), None)") == "in_ptr1");
}

TEST_CASE("A pointer in a local variable is not guessed") {
    CHECK(parameter_of("tmp0 = tl.load(pointer, mask)").empty());
    CHECK(parameter_of("tl.store(block_ptr, tl.load(other_ptr))").empty());
}

TEST_CASE("On a line with two accesses neither is picked") {
    const KernelLine line = line_with("tl.store(out_ptr0 + (x0), tl.load(in_ptr0 + (x0)), xmask)");
    CHECK(line.parameter.empty());
    CHECK(parameter_of("a = tl.load(in_ptr0); b = tl.load(in_ptr1)").empty());
}

TEST_CASE("A kernel whose definition is not in its source has no parameters") {
    const std::string wrapper = wrapped(block_of("k", "\ntl.load(in_ptr0 + (x0), None)\n"));
    const std::optional<KernelLine> line = find_kernel_line(wrapper, "k", 2);
    REQUIRE(line);
    CHECK(line->parameter.empty());
}

TEST_CASE("Each kernel has its assertions, in the order of the source") {
    CHECK(find_assertions("").empty());
    CHECK(find_assertions("async_compile.triton('").empty());
    CHECK(find_assertions("async_compile.triton('k', '''").size() == 1);
    CHECK(find_assertions("async_compile.triton('k', '''tl.device_assert(a)").front().lines.size() == 1);
    const std::string wrapper =
        wrapped(block_of("k_1", source_of("k_1", "    tl.load(in_ptr0)\n    # tl.device_assert(a)\n")) +
                block_of("k", source_of("k",
                                        "    tl.device_assert((a) | b, \"0 <= a\")\n    tl.store(a)\n"
                                        "\ttl.device_assert(c)  # why\r\n")) +
                block_of("k_2", "tl.device_assert(a)"));
    const std::vector<KernelAssertions> kernels = find_assertions(wrapper);
    REQUIRE(kernels.size() == 3);
    CHECK(kernels[0].name == "k_1");
    CHECK(kernels[0].lines.empty());
    CHECK(kernels[1].name == "k");
    REQUIRE(kernels[1].lines.size() == 2);
    CHECK(kernels[1].lines[0].line == kStatement);
    CHECK(kernels[1].lines[0].text == "tl.device_assert((a) | b, \"0 <= a\")");
    CHECK(kernels[1].lines[1].line == kStatement + 2);
    CHECK(kernels[1].lines[1].text == "tl.device_assert(c)  # why");
    CHECK(kernels[2].name == "k_2");
    CHECK(kernels[2].lines[0].line == 1);
    // The text agrees with that of a lookup of the line.
    CHECK(find_kernel_line(wrapper, "k", kStatement)->text == kernels[1].lines[0].text);
}

TEST_CASE("Many unfinished kernels take work proportional to their text") {
    std::string many;
    for (int i = 0; i < 200'000; ++i)
        many += "async_compile.triton('k";
    CHECK(find_assertions(many).empty());
    many.clear();
    for (int i = 0; i < 50'000; ++i)
        many += "async_compile.triton('k', \n'''tl.device_assert(a)\n";
    CHECK(find_assertions(many).empty());
    many.clear();
    for (int i = 0; i < 50'000; ++i)
        many += "async_compile.triton('k', '''tl.device_assert(a)\n";
    // Each closes the one before it.
    CHECK(find_assertions(many).size() == 25'000);
}

}  // namespace aoti_dbg::kernel_source_test
