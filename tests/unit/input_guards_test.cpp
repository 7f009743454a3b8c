// The requirements on inputs, read from wrapper sources: unknown forms first, then what PyTorch writes.
#include "model/input_guards.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/unit/call_sites_fixture.hpp"

namespace aoti_dbg::input_guards_test {
namespace {

std::string check_function(const std::string& position, const std::string& body) {
    return "AOTI_NOINLINE static void check_input_" + position +
           "(AtenTensorHandle* input_handles) {\n"
           "ConstantHandle a = ConstantHandle(input_handles[0]);\n" +
           body + "}\n";
}

InputGuard guard_of(const std::string& body) {
    const WrapperInfo info = read_wrapper(check_function("0", body));
    REQUIRE(info.input_guards.size() == 1);
    return info.input_guards.front();
}

}  // namespace

TEST_CASE("A condition of another form or about another name has no effect") {
    const std::string condition =
        GENERATE("3 == a_size[0]", "3 != b_size[0]", "3 != a_size[n]", "3 != a_size[64]", "3 != a_size[-1]",
                 "3.5 != a_size[0]", "99999999999999999999 != a_size[0]", "a_size[0] = 3", "a_size[0] > n",
                 "3 != a_size", "", "3 != a_shape[0]", "b_size[0] > 3");
    CAPTURE(condition);
    const InputGuard guard = guard_of("if (" + condition + ") {\n throw 1;\n}\n");
    CHECK(guard.sizes.empty());
    CHECK(guard.strides.empty());
}

TEST_CASE("A function of another name or an impossible position is not a check") {
    const std::string position = GENERATE("", "x", "-1", "99999999999", "70000");
    CHECK(read_wrapper(check_function(position, "")).input_guards.empty());
    CHECK(read_wrapper("static void check_inputs(int) { if (3 != a_size[0]) { } }").input_guards.empty());
}

TEST_CASE("Code behind a check is not taken for a part of it") {
    const WrapperInfo info =
        read_wrapper(check_function("0", "") + "static void other(int) {\nif (3 != a_size[0]) {\n}\n}\n");
    REQUIRE(info.input_guards.size() == 1);
    CHECK(info.input_guards[0].sizes.empty());
}

TEST_CASE("PyTorch's checks of an input with a dynamic size are read") {
    const WrapperInfo info = read_wrapper(test_data("dynamic_batch.checks.cpp.txt"));
    REQUIRE(info.input_guards.size() == 1);
    const InputGuard& guard = info.input_guards.front();
    CHECK(guard.position == 0);
    CHECK(guard.line == 1);
    CHECK(guard.name == "arg2_1");
    CHECK(guard.dtype == "float32");
    CHECK(guard.device_type == 0);
    CHECK(guard.sizes == std::vector<InputGuard::Size>{{true, 2, 512}, {true, 12, 12}});
    CHECK(guard.strides == std::vector<std::int64_t>{12, 1});
}

TEST_CASE("Dimensions without a check stay open") {
    const InputGuard guard =
        guard_of("if (7L != a_size[2]) {\n}\nif (a_size[0] > 9) {\n}\nif (1 != a_stride[1]) {\n}\n");
    REQUIRE(guard.sizes.size() == 3);
    CHECK(guard.sizes[0] == InputGuard::Size{true, 0, 9});
    CHECK_FALSE(guard.sizes[1].is_said);
    CHECK(guard.sizes[2] == InputGuard::Size{true, 7, 7});
    CHECK(guard.strides == std::vector<std::int64_t>{-1, 1});
}

TEST_CASE("Many checks are kept within the limits") {
    std::string text;
    for (int i = 0; i < 20000; ++i)
        text += check_function(std::to_string(i), "if (1 != a_size[63]) { }\n");
    const WrapperInfo info = read_wrapper(text);
    std::size_t kept = 0;
    for (const InputGuard& guard : info.input_guards)
        kept += guard.sizes.size();
    CHECK(kept <= kMaxEntries);
    CHECK_FALSE(info.is_complete);
}

TEST_CASE("Kernels and views rely on strides, and ops that get the tensor itself do not") {
    const auto relies = [](const std::string& lines) {
        return relies_on_strides(read_body(lines).run, "arg0_1");
    };
    const std::string take = "auto arg0_1 = std::move(inputs[0]);\n";
    CHECK_FALSE(relies(take + "aoti_torch_cpu_relu(arg0_1, &buf0_handle);\n"));
    CHECK_FALSE(relies(take + "cpp_fused_relu_0((const float*)(buf7.data_ptr()), 8L);\n"));
    CHECK(relies(take + "cpp_fused_relu_0((const float*)(arg0_1.data_ptr()), 8L);\n"));
    CHECK(relies(take +
                 "aoti_torch_cpu_relu(wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(arg0_1, 2, "
                 "int_array_0, int_array_1, 0L)), &buf0_handle);\n"));
    CHECK(relies(take + "auto buf1 = std::move(arg0_1);  // reuse\n"
                        "cpp_fused_relu_0((float*)(buf1.data_ptr()), 8L);\n"));
}

TEST_CASE("A model whose constants are loaded later has that in its constructor") {
    const auto has_weights = [](const std::string& last) {
        return read_wrapper(
                   "AOTInductorModel::AOTInductorModel(std::shared_ptr<ConstantMap> constants_map)\n"
                   "    : AOTInductorModelBase(1, 2, 2, device_str, std::move(cubin_dir), " +
                   last + ") {\n}\n")
            .has_weights;
    };
    CHECK(has_weights("true"));
    CHECK_FALSE(has_weights("false"));
    CHECK(read_wrapper("int main() { return 0; }").has_weights);
}

}  // namespace aoti_dbg::input_guards_test
