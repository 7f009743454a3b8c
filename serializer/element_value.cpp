#include "serializer/element_value.hpp"

#include <cstdint>
#include <cstring>

#include "serializer/number_text.hpp"
#include "stats_kernels/element_decode.hpp"

namespace aoti_dbg {
namespace {

template <typename Type>
Type loaded(const std::byte* at) {
    Type value;
    memcpy(&value, at, sizeof value);
    return value;
}

/// Calls `work` with an object of the integer type of `dtype`.
template <typename Work>
auto with_integer(DType dtype, Work work) {
    switch (dtype) {
        case DType::int8:
            return work(std::int8_t{});
        case DType::int16:
            return work(std::int16_t{});
        case DType::int32:
            return work(std::int32_t{});
        case DType::int64:
            return work(std::int64_t{});
        case DType::uint16:
            return work(std::uint16_t{});
        case DType::uint32:
            return work(std::uint32_t{});
        case DType::uint64:
            return work(std::uint64_t{});
        default:
            return work(std::uint8_t{});
    }
}

/// Reads a floating-point type narrower than float64.
float narrow_value(DType dtype, const std::byte* at) {
    switch (dtype) {
        case DType::float32:
            return loaded<float>(at);
        case DType::float16:
            return decode_float16(loaded<std::uint16_t>(at));
        case DType::bfloat16:
            return decode_bfloat16(loaded<std::uint16_t>(at));
        case DType::float4_e2m1fn_x2:
            return decode_float4(loaded<std::uint8_t>(at));
        default:
            return decode_float8(dtype, loaded<std::uint8_t>(at));
    }
}

}  // namespace

double element_value(DType dtype, const std::byte* at) {
    if (dtype == DType::boolean) return loaded<std::uint8_t>(at) == 0 ? 0 : 1;
    if (dtype == DType::float64) return loaded<double>(at);
    if (!is_integer(dtype)) return narrow_value(dtype, at);
    return with_integer(dtype, [at](auto zero) { return static_cast<double>(loaded<decltype(zero)>(at)); });
}

void append_json_element(DType dtype, const std::byte* at, std::string& out) {
    if (dtype == DType::boolean) {
        out += loaded<std::uint8_t>(at) == 0 ? "false" : "true";
    } else if (dtype == DType::float64) {
        append_json_number(loaded<double>(at), out);
    } else if (!is_integer(dtype)) {
        append_json_number(narrow_value(dtype, at), out);
    } else if (is_unsigned(dtype)) {
        append_integer(with_integer(dtype,
                                    [at](auto zero) -> std::uint64_t {
                                        return static_cast<std::uint64_t>(loaded<decltype(zero)>(at));
                                    }),
                       out);
    } else {
        append_integer(with_integer(dtype,
                                    [at](auto zero) -> std::int64_t {
                                        return static_cast<std::int64_t>(loaded<decltype(zero)>(at));
                                    }),
                       out);
    }
}

}  // namespace aoti_dbg
