// The getters of the shim, found in this program as if it were libtorch. It exports what PyTorch 2.11 has for
// its newest dtypes.
#include "shim/runtime/shim_api.hpp"

#include "tests/support/catch.hpp"

#pragma GCC visibility push(default)
extern "C" {

// The functions are only looked up, never called.
#define AOTI_DBG_TEST_GETTER(name)         \
    std::int32_t aoti_torch_get_##name() { \
        return 0;                          \
    }
AOTI_DBG_TEST_GETTER(data_ptr)
AOTI_DBG_TEST_GETTER(sizes)
AOTI_DBG_TEST_GETTER(strides)
AOTI_DBG_TEST_GETTER(dim)
AOTI_DBG_TEST_GETTER(storage_offset)
AOTI_DBG_TEST_GETTER(storage_size)
AOTI_DBG_TEST_GETTER(dtype)
AOTI_DBG_TEST_GETTER(device_type)
AOTI_DBG_TEST_GETTER(device_index)
#undef AOTI_DBG_TEST_GETTER

std::int32_t aoti_torch_dtype_float32() {
    return 6;
}
std::int32_t torch_dtype_float32() {
    return 99;
}
std::int32_t torch_dtype_float8_e8m0fnu() {
    return 44;
}
std::int32_t torch_dtype_float4_e2m1fn_x2() {
    return 45;
}
}
#pragma GCC visibility pop

using namespace aoti_dbg;

TEST_CASE("Dtypes that only PyTorch's stable interface has are known, and all others are not") {
    const std::optional<ShimApi> api =
        find_shim_api(reinterpret_cast<const void*>(&aoti_torch_dtype_float32));
    REQUIRE(api.has_value());
    CHECK(api->dtype_of(6) == DType::float32);
    CHECK(api->dtype_of(44) == DType::float8_e8m0fnu);
    CHECK(api->dtype_of(45) == DType::float4_e2m1fn_x2);
    CHECK_FALSE(api->dtype_of(99).has_value());
    CHECK_FALSE(api->dtype_of(22).has_value());  // bits8
}
