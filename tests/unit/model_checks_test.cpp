// A model's requirements on its runs: constants that are loaded later, and the pointers of its launches.
#include "shim/check/model_checks.hpp"

#include "shim/runtime/process.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/call_sites_fixture.hpp"

namespace aoti_dbg::model_checks_test {
namespace {

const char g_containers[2] = {};
const void* const kOne = &g_containers[0];
const void* const kOther = &g_containers[1];

WrapperInfo with_constants(bool has_weights) {
    ensure_process_ready();
    WrapperInfo info;
    info.has_weights = has_weights;
    info.constants.resize(3);
    return info;
}

}  // namespace

TEST_CASE("A model with its constants needs no update, and neither does one without constants") {
    const WrapperInfo full = with_constants(true);
    CHECK_FALSE(ModelChecks(full).wrong_constants(kOne));
    WrapperInfo none = with_constants(false);
    none.constants.clear();
    CHECK_FALSE(ModelChecks(none).wrong_constants(kOne));
}

TEST_CASE("Constants that are loaded later are missing until then, separately for each container") {
    const WrapperInfo info = with_constants(false);
    ModelChecks checks(info);
    REQUIRE(checks.wrong_constants(kOne));
    CHECK(checks.wrong_constants(kOne)->check == "constants");
    checks.note_update(kOne, "Update", 0);
    CHECK_FALSE(checks.wrong_constants(kOne));
    CHECK(checks.wrong_constants(kOther));
    checks.forget(kOne);
    CHECK(checks.wrong_constants(kOne));
}

TEST_CASE("A failed update counts until one succeeds") {
    const WrapperInfo info = with_constants(true);
    ModelChecks checks(info);
    checks.note_update(kOne, "Update", 7);
    REQUIRE(checks.wrong_constants(kOne));
    CHECK(checks.wrong_constants(kOne)->found == "error 7 of Update");
    CHECK_FALSE(checks.wrong_constants(kOther));
    checks.note_update(kOne, "Update", 0);
    CHECK_FALSE(checks.wrong_constants(kOne));
}

TEST_CASE("A launch's pointers are the tensors that it passes, with the alignment that the kernel assumes") {
    ensure_process_ready();
    const std::string meta =
        "triton_meta={'signature': {'in_ptr0': '*fp16', 'xnumel': 'i32', 'out_ptr0': '*fp16', 'XBLOCK': "
        "'constexpr'}, "
        "'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16], ['tt.pointer_range', 32]], "
        "(1,): [['tt.divisibility', 16]]}]},\n";
    const WrapperInfo info = read_wrapper(
        "template <typename T> static inline void call_triton_poi_0(const T& in_ptr0, int64_t xnumel, const "
        "T& out_ptr0, "
        "int32_t device_idx_) {\n/*\n@triton_heuristics.pointwise(\n" +
        meta +
        ")\n@triton.jit\ndef k(): pass\n*/\n"
        "CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());\nint var_1 = xnumel;\n"
        "CUdeviceptr var_2 = reinterpret_cast<CUdeviceptr>(out_ptr0.data_ptr());\nCUdeviceptr scratch = 0;\n"
        "void* kernel_args_[] = {&var_0, &var_1, &var_2, &scratch};\n}\n"
        "void AOTInductorModel::run_impl(AtenTensorHandle* input_handles) {\n"
        "call_triton_poi_0(arg0_1, 8L, buf0, this->device_idx_);\n}\n");
    REQUIRE(info.run.sites.size() == 1);
    const std::vector<SitePlan> sites = make_site_plans(info, 0);
    ModelChecks checks(info);
    checks.plan_launches(sites);
    const auto pointers = checks.pointers_at(0);
    REQUIRE(pointers.size() == 2);
    CHECK(checks.pointers() == 2);
    CHECK(pointers[0].parameter == 0);
    CHECK(pointers[0].argument->label == "arg0_1");
    CHECK(pointers[0].alignment == 16);
    CHECK(pointers[1].parameter == 2);
    CHECK(pointers[1].argument->label == "buf0");
    CHECK(pointers[1].alignment == 0);
    CHECK(checks.pointers_at(7).empty());
}

}  // namespace aoti_dbg::model_checks_test
