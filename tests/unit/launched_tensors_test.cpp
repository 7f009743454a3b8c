// The addresses of a launch's tensors, by what the kernel received and what the source says about their
// sizes.
#include "model/launched_tensors.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/elf_writer.hpp"

namespace aoti_dbg::test::launched_tensors_test {
namespace {

Argument tensor(const std::string& name, const std::string& parameter) {
    Argument argument;
    argument.text = name;
    argument.kind = ArgumentKind::tensor;
    argument.tensors = {{name, std::nullopt}};
    argument.parameter = parameter;
    return argument;
}

/// kernel(in_ptr0: arg1_1 [s77, 64], in_ptr1: weight [64, 64], out_ptr0: buf0 [s77, 64], xnumel: 64*s77).
WrapperInfo usual() {
    WrapperInfo info;
    info.inputs = {"arg1_1"};
    InputGuard guard;
    guard.name = "arg1_1";
    guard.dtype = "float32";
    guard.sizes = {{true, 1, 64}, {true, 64, 64}};
    guard.strides = {64, 1};
    info.input_guards = {guard};
    ConstantInfo constant;
    constant.name = "weight";
    constant.dtype = "float16";
    constant.shape = "{64, 64}";
    constant.stride = "{64, 1}";
    info.constants = {constant};
    Allocation allocation;
    allocation.name = "buf0";
    allocation.dtype = "float32";
    allocation.sizes = "{s77, 64L}";
    allocation.strides = "{64L, 1L}";
    info.run.allocations = {allocation};
    info.run.symbols = {{"s77", "arg1_1_size[0]"}};
    TritonKernelInfo kernel;
    kernel.parameters = {
        {"in_ptr0", "*fp32"}, {"in_ptr1", "*fp16"}, {"out_ptr0", "*fp32"}, {"xnumel", "i32"}};
    kernel.launched = {0, 1, 2, 3, kNone, kNone};
    info.triton_kernels = {kernel};
    CallSite site;
    site.kernel = 0;
    Argument number;
    number.text = "xnumel";
    number.kind = ArgumentKind::scalar;
    number.value = "64L*s77";
    number.parameter = "xnumel";
    site.arguments = {tensor("arg1_1", "in_ptr0"), tensor("weight", "in_ptr1"), tensor("buf0", "out_ptr0"),
                      number};
    info.run.sites = {site};
    return info;
}

std::string parameters(std::uint32_t xnumel, std::uint32_t above = 0) {
    return Packed().u64(0x1000).u64(0x20000).u64(0x30000).u32(xnumel).u32(above).u64(0).u64(0).bytes();
}

}  // namespace

TEST_CASE("Pointers come from the launch, sizes from the source, symbols from numbers of the launch") {
    const std::vector<TensorMemory> tensors = launched_tensors(usual(), 0, parameters(48 * 64));
    REQUIRE(tensors.size() == 3);
    CHECK(tensors[0].label == "arg1_1");
    CHECK(tensors[0].parameter == "in_ptr0");
    CHECK(tensors[0].begin == 0x1000);
    CHECK(tensors[0].bytes == 48 * 64 * 4);
    CHECK(tensors[1].bytes == 64 * 64 * 2);
    CHECK(tensors[2].begin == 0x30000);
    CHECK(tensors[2].bytes == 48 * 64 * 4);
}

TEST_CASE("A size that the source does not give for certain is left out") {
    // No number of rows gives this value.
    std::vector<TensorMemory> tensors = launched_tensors(usual(), 0, parameters(48 * 64 + 1));
    REQUIRE(tensors.size() == 3);
    CHECK(tensors[0].bytes == 0);
    CHECK(tensors[1].bytes == 64 * 64 * 2);
    CHECK(tensors[2].bytes == 0);
    // A view of another tensor with unknown size.
    WrapperInfo info = usual();
    info.run.shared_memory = {{"buf0", "buf7", SharedMemory::How::view, 0}};
    tensors = launched_tensors(info, 0, parameters(64));
    CHECK(tensors[2].bytes == 0);
    for (const char* text :
         {"{f(s77), 64L}", "{s77, 64L", "{9999999999999999999, 1L}", "{-1, 64L}", "{s77 64}"}) {
        CAPTURE(text);
        info = usual();
        info.run.allocations[0].sizes = text;
        CHECK(launched_tensors(info, 0, parameters(64)).at(2).bytes == 0);
    }
}

TEST_CASE("Numbers that no linear expression can give do not determine a size") {
    const auto size_of_output = [](const std::string& expression, std::uint64_t number) {
        WrapperInfo info = usual();
        info.triton_kernels[0].parameters[3].type = "i64";
        info.run.sites[0].arguments[3].value = expression;
        return launched_tensors(
                   info, 0,
                   parameters(static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32U)))
            .at(2)
            .bytes;
    };
    CHECK(size_of_output("64L*s77", 48 * 64) == 48 * 64 * 4);
    CHECK(size_of_output("5L - s77", 2) == 3 * 64 * 4);
    constexpr std::uint64_t kLowest = std::uint64_t{1} << 63U;
    for (const char* expression :
         {"s77", "5L - s77", "64L*s77", "0L - s77", "9L*999999999999999999L*(2L*s77 - 1L)"})
        for (const std::uint64_t number : {kLowest, kLowest + 5, kLowest - 1, kLowest - 6}) {
            CAPTURE(expression, number);
            CHECK(size_of_output(expression, number) == 0);
        }
}

TEST_CASE("Bytes that do not match the source's layout are not used") {
    CHECK(launched_tensors(usual(), 0, "").empty());
    CHECK(launched_tensors(usual(), 0, parameters(64).substr(0, 40)).empty());
    CHECK(launched_tensors(usual(), 0, parameters(64) + std::string(8, '\0')).empty());
    CHECK(launched_tensors(usual(), 7, parameters(64)).empty());
    WrapperInfo info = usual();
    info.triton_kernels[0].parameters[3].type = "tensordesc";
    CHECK(launched_tensors(info, 0, parameters(64)).empty());
}

}  // namespace aoti_dbg::test::launched_tensors_test
