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

/// Stands for at::native::is_conj, so that handles count as those of libtorch.
bool is_conj(const void*) __asm__("_ZN2at6native7is_conjERKNS_6TensorE");
bool is_conj(const void* /*handle*/) {
    return false;
}
const void* undefined_tensor __asm__("_ZN3c1019UndefinedTensorImpl10_singletonE") = nullptr;

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

namespace {

struct TensorImpl {
    TensorImpl() = default;
    TensorImpl(const TensorImpl&) = delete;
    TensorImpl& operator=(const TensorImpl&) = delete;
    virtual ~TensorImpl() = default;
};
struct OpaqueTensorImpl : TensorImpl {};

}  // namespace

TEST_CASE("Undefined and opaque tensors of a libtorch without getters for them are recognized") {
    std::optional<ShimApi> api = find_shim_api(reinterpret_cast<const void*>(&aoti_torch_dtype_float32));
    REQUIRE(api.has_value());
    const TensorImpl usual;
    const OpaqueTensorImpl opaque;
    const void* const usual_handle = &usual;
    const void* const opaque_handle = &opaque;
    const void* const undefined_handle = &undefined_tensor;

    CHECK(api->has_tensor(&usual_handle));
    CHECK(api->has_tensor(&opaque_handle));
    CHECK_FALSE(api->has_tensor(&undefined_handle));
    CHECK(api->is_strided(&usual_handle) == true);
    CHECK(api->is_strided(&opaque_handle) == false);
}

TEST_CASE("The getter for layouts decides where a libtorch has one") {
    ShimApi api;
    api.has_type_names = true;
    api.strided = 3;
    CHECK(ShimApi{}.is_strided(nullptr) == true);
    api.layout = [](TensorHandle /*handle*/, std::int32_t* layout) {
        *layout = 3;
        return 0;
    };
    CHECK(api.is_strided(nullptr) == true);
    api.strided = 0;
    CHECK(api.is_strided(nullptr) == false);
    api.layout = [](TensorHandle /*handle*/, std::int32_t* /*layout*/) { return 1; };
    CHECK_FALSE(api.is_strided(nullptr).has_value());
}
