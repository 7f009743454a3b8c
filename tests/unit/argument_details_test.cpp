// The arguments of a call in a report, by a model's source: dtype and sizes, with numbers where the launch or
// the run's tensors give them. Nothing uncertain may appear.
#include "triage/gather/argument_details.hpp"

#include "base/words.hpp"
#include "model/call_sites.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/elf_writer.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"

namespace aoti_dbg::argument_details_test {
namespace {

using tensors::Origin;
using test::Packed;
using Texts = std::vector<std::string>;
using Tensors = std::vector<TensorOfRun>;

Argument tensor(const std::string& name, const std::string& parameter,
                const std::optional<WrittenView>& view = {}) {
    Argument argument;
    argument.text = name;
    argument.kind = ArgumentKind::tensor;
    argument.role = Role::writes;
    argument.tensors = {{name, view}};
    argument.parameter = parameter;
    return argument;
}

Argument scalar(const std::string& value, const std::string& parameter) {
    Argument argument;
    argument.text = value;
    argument.kind = ArgumentKind::scalar;
    argument.value = value;
    argument.parameter = parameter;
    return argument;
}

Allocation made(const std::string& name, const std::string& sizes, const std::string& strides,
                const std::string& dtype = "float32") {
    Allocation allocation;
    allocation.name = name;
    allocation.dtype = dtype;
    allocation.sizes = sizes;
    allocation.strides = strides;
    return allocation;
}

/// kernel(in_ptr0: arg1_1 [s77, 64], out_ptr0: buf0 [s77, 64], scale: 0.5, xnumel: 64*s77).
FoundSource usual() {
    FoundSource source;
    WrapperInfo& info = source.info;
    info.inputs = {"arg1_1"};
    InputGuard guard;
    guard.name = "arg1_1";
    guard.dtype = "float16";
    guard.sizes = {{true, 1, 512}, {true, 64, 64}};
    guard.strides = {64, 1};
    info.input_guards = {guard};
    ConstantInfo weight;
    weight.name = "weight";
    weight.dtype = "float32";
    weight.shape = "{64, 64}";
    weight.stride = "{64, 1}";
    info.constants = {weight};
    info.run.allocations = {made("buf0", "{s77, 64L}", "{64L, 1L}")};
    info.run.symbols = {{"s77", "arg1_1_size[0]"}};
    TritonKernelInfo kernel;
    kernel.parameters = {{"in_ptr0", "*fp16"}, {"out_ptr0", "*fp32"}, {"scale", "fp32"}, {"xnumel", "i32"}};
    kernel.launched = {0, 1, 2, 3, kNone};
    info.triton_kernels = {kernel};
    CallSite site;
    site.kernel = 0;
    site.arguments = {tensor("arg1_1", "in_ptr0"), tensor("buf0", "out_ptr0"), scalar("0.5", "scale"),
                      scalar("64L*s77", "xnumel")};
    info.run.sites = {site};
    source.sites = {0};
    return source;
}

std::string parameters(std::uint32_t xnumel) {
    return Packed().u64(0x1000).u64(0x20000).u32(0x3f000000).u32(xnumel).u64(0).bytes();
}

std::vector<CrashArgument> arguments_of(const FoundSource& source, const std::string& got = {},
                                        const Tensors& tensors = {}) {
    const Texts names = {"kernel"};
    const ArgumentDetails arguments(source, names, got, tensors);
    std::vector<CrashArgument> all = arguments.arguments();
    arguments.add_places(all);
    return all;
}

std::string text_of(const CrashArgument& argument) {
    std::string text = argument.dtype;
    if (argument.has_sizes) text += " [" + joined(argument.sizes, ", ") + "]";
    return text + (argument.is_expected ? " expected" : "");
}

TEST_CASE("Sizes without known numbers stay as the source writes them, and values are left out") {
    const std::vector<CrashArgument> arguments = arguments_of(usual());
    REQUIRE(arguments.size() == 4);
    CHECK(text_of(arguments[0]) == "float16 [s77, 64] expected");
    CHECK(text_of(arguments[1]) == "float32 [s77, 64]");
    CHECK(arguments[1].parameter == "out_ptr0");
    CHECK(arguments[1].begin == 0);
    CHECK(arguments[2].value == "0.5");
    CHECK(arguments[3].value.empty());
    CHECK(arguments[3].what == "xnumel = 64L*s77");
}

TEST_CASE("The parameters of the launch give symbols, values and addresses") {
    const std::vector<CrashArgument> arguments = arguments_of(usual(), parameters(48 * 64));
    CHECK(text_of(arguments[0]) == "float16 [48, 64] expected");
    CHECK(text_of(arguments[1]) == "float32 [48, 64]");
    CHECK(arguments[1].begin == 0x20000);
    CHECK(arguments[1].bytes == 48 * 64 * 4);
    CHECK(arguments[2].value == "0.5");
    CHECK(arguments[3].value == "3072");
    // No number of rows gives this value, but the kernel did get it.
    const std::vector<CrashArgument> odd = arguments_of(usual(), parameters(48 * 64 + 1));
    CHECK(text_of(odd[1]) == "float32 [s77, 64]");
    CHECK(odd[1].bytes == 0);
    CHECK(odd[3].value == "3073");
}

TEST_CASE("The tensors that the run created give symbols and addresses if the launch is unknown") {
    const Tensors tensors = {{"arg1_1", 0x7000, 48 * 64 * 2, Origin::input},
                             {"buf0", 0x9000, 48 * 64 * 4, Origin::made}};
    const std::vector<CrashArgument> arguments = arguments_of(usual(), {}, tensors);
    CHECK(text_of(arguments[0]) == "float16 [48, 64] expected");
    CHECK(arguments[0].begin == 0x7000);
    CHECK(arguments[0].bytes == 48 * 64 * 2);
    CHECK(text_of(arguments[1]) == "float32 [48, 64]");
    CHECK(arguments[1].begin == 0x9000);
    CHECK(arguments[3].value == "3072");
    // An input may differ from what the model was compiled for, so it gives no symbol.
    const std::vector<CrashArgument> input = arguments_of(usual(), {}, {tensors.front()});
    CHECK(text_of(input[0]) == "float16 [s77, 64] expected");
    CHECK(input[0].bytes == 48 * 64 * 2);
    // The kernel used the address that it got.
    CHECK(arguments_of(usual(), parameters(64), tensors)[1].begin == 0x20000);
}

TEST_CASE("A number of bytes that fits several sizes gives none of them") {
    FoundSource source = usual();
    const auto sizes_of = [&source](std::uint64_t bytes) {
        return text_of(arguments_of(source, {}, {{"buf0", 0x9000, bytes, Origin::made}})[1]);
    };
    CHECK(sizes_of(48 * 64 * 4 + 4) == "float32 [s77, 64]");
    CHECK(sizes_of(0) == "float32 [s77, 64]");
    CHECK(sizes_of(UINT64_MAX) == "float32 [s77, 64]");
    std::vector<Allocation>& all = source.info.run.allocations;
    all[0].sizes = "{s77, s77}";
    all[0].strides = "{s77, 1L}";
    CHECK(sizes_of(64) == "float32 [s77, s77]");
    all[0].sizes = "{s77, s5}";
    all[0].strides = "{s5, 1L}";
    CHECK(sizes_of(64) == "float32 [s77, s5]");
    all[0].sizes = "{(s77 / 2L), 64L}";
    all[0].strides = "{64L, 1L}";
    CHECK(sizes_of(512) == "float32 [(s77 / 2), 64]");
    all[0].sizes = "{s77, 64L}";
    all.push_back(all[0]);
    CHECK(sizes_of(512) == "float32 [s77, 64]");
    all.pop_back();
    CHECK(sizes_of(512) == "float32 [2, 64]");
    all[0].region = 0;  // that branch may not have run
    CHECK(sizes_of(512).empty());
}

TEST_CASE("A view has its own sizes, and starts at its offset in its tensor") {
    FoundSource source = usual();
    std::vector<Argument>& said = source.info.run.sites[0].arguments;
    source.info.run.allocations[0].sizes = "{8L, 64L}";
    const Tensors tensors = {{"buf0", 0x9000, 2048, Origin::made}};
    said = {tensor("buf0", "a", WrittenView{"{4L, 16L}", "{16L, 1L}", "32L", ""}),
            tensor("buf0", "b", WrittenView{"{64L}", "{1L}", "s0", "int32"}),
            tensor("weight", "c", WrittenView{"{8L}", "{1L}", "", ""}),
            tensor("buf0", "d", WrittenView{"", "", "", "int32"})};
    const std::vector<CrashArgument> arguments = arguments_of(source, {}, tensors);
    CHECK(text_of(arguments[0]) == "float32 [4, 16]");
    CHECK(arguments[0].begin == 0x9000 + 128);
    CHECK(arguments[0].bytes == 256);
    CHECK(text_of(arguments[1]) == "int32 [64]");
    CHECK(arguments[1].begin == 0);
    CHECK(text_of(arguments[2]) == "float32 [8] expected");
    CHECK(text_of(arguments[3]) == "int32 [8, 64]");
}

TEST_CASE("Memory under another name has the first name's address and sizes, unless it is a view") {
    FoundSource source = usual();
    source.info.run.sites[0].arguments = {tensor("buf3", "a")};
    source.info.run.shared_memory = {{"buf3", "buf0", SharedMemory::How::moved, 0}};
    const Tensors tensors = {{"buf0", 0x9000, 48 * 64 * 4, Origin::made}};
    CHECK(text_of(arguments_of(source, {}, tensors)[0]) == "float32 [48, 64]");
    CHECK(arguments_of(source, {}, tensors)[0].begin == 0x9000);
    source.info.run.shared_memory[0].how = SharedMemory::How::view;
    CHECK(text_of(arguments_of(source, {}, tensors)[0]).empty());
    CHECK(arguments_of(source, {}, tensors)[0].begin == 0);
}

TEST_CASE("An unaligned input, which is copied, is not reported at its original address") {
    FoundSource source = usual();
    source.info.run.shared_memory = {{"arg1_1", "arg1_1_aligned", SharedMemory::How::moved, 0}};
    CHECK(arguments_of(source, {}, {{"arg1_1", 0x7000, 64, Origin::input}})[0].begin == 0x7000);
    CHECK(arguments_of(source, {}, {{"arg1_1", 0x7004, 64, Origin::input}})[0].begin == 0);
    // Nor is a tensor that the run created under the name of an input.
    CHECK(arguments_of(source, {}, {{"arg1_1", 0x7000, 64, Origin::made}})[0].begin == 0);
}

TEST_CASE("An input's unchecked dimensions are unknown, and without checks so is their number") {
    FoundSource source = usual();
    InputGuard& guard = source.info.input_guards[0];
    const auto text = [&source] { return text_of(arguments_of(source)[0]); };
    guard.sizes = {};
    CHECK(text() == "float16 [s77, ?] expected");
    source.info.run.symbols = {
        {"s77", "arg1_1_size[2]"}, {"s1", "arg1_1_size[99]"}, {"s2", "arg1_1_size[x]"}};
    CHECK(text() == "float16 [?, ?, s77] expected");
    guard.strides = {};
    source.info.run.symbols = {};
    CHECK(text() == "float16 expected");
    guard.dtype = "";
    CHECK(text().empty());
}

TEST_CASE("Texts that are not sizes give none") {
    for (const char* sizes : {"", "{", "{}x", "s77", "{s77 64L", "{,}", "{1L,,2L}", "{1L}", "{((1L, 2L}"}) {
        CAPTURE(sizes);
        FoundSource source = usual();
        source.info.run.allocations[0].sizes = sizes;
        const CrashArgument argument = arguments_of(source, parameters(64))[1];
        CHECK_FALSE(argument.has_sizes);
        CHECK(argument.sizes.empty());
        CHECK(argument.bytes == 0);
        CHECK(argument.dtype == "float32");
    }
    FoundSource number = usual();  // no dimensions
    number.info.run.allocations[0].sizes = number.info.run.allocations[0].strides = "{}";
    const CrashArgument argument = arguments_of(number, parameters(64))[1];
    CHECK(text_of(argument) == "float32 []");
    CHECK(argument.bytes == 4);
}

TEST_CASE("A source as the compiler writes it gives dtype and sizes of each tensor of a call") {
    const std::string wrapper = test::read_text(places::kFakeWrapper);
    WrapperTexts texts;
    texts.wrapper = wrapper;
    FoundSource source{read_call_sites(texts), {}};
    const auto& sites = source.info.run.sites;
    const auto site = std::find_if(sites.begin(), sites.end(), [](const CallSite& one) {
        return one.name == "triton_poi_fused_gt_arange_1";
    });
    REQUIRE(site != sites.end());
    source.sites = {static_cast<std::uint32_t>(site - sites.begin())};
    const std::vector<CrashArgument> arguments = arguments_of(source);
    REQUIRE(arguments.size() == 4);
    CHECK(text_of(arguments[0]) == "float32 [8, 16]");
    CHECK(text_of(arguments[1]) == "bool [8, 16]");
    CHECK(text_of(arguments[2]) == "int64 [8, 16]");
    CHECK(arguments[3].value == "128");
}

}  // namespace
}  // namespace aoti_dbg::argument_details_test
