// PyTorch's names for the storages of a dtype. Nothing else.
#pragma once

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// Returns the class in the module "torch" for that dtype, or null for dtypes introduced after these classes.
constexpr const char* pt_storage_class(DType dtype) {
    switch (dtype) {
        case DType::float64:
            return "DoubleStorage";
        case DType::float32:
            return "FloatStorage";
        case DType::float16:
            return "HalfStorage";
        case DType::bfloat16:
            return "BFloat16Storage";
        case DType::complex64:
            return "ComplexFloatStorage";
        case DType::complex128:
            return "ComplexDoubleStorage";
        case DType::int8:
            return "CharStorage";
        case DType::int16:
            return "ShortStorage";
        case DType::int32:
            return "IntStorage";
        case DType::int64:
            return "LongStorage";
        case DType::uint8:
            return "ByteStorage";
        case DType::boolean:
            return "BoolStorage";
        default:
            return nullptr;
    }
}

}  // namespace aoti_dbg
