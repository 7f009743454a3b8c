// What the files that define exported hooks of the driver share. The types are cuda.h's, the names are those
// of the library's symbols: cuda.h renames some by macro, __CUDA_API_VERSION_INTERNAL takes that back.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include "shim/runtime/driver_table.hpp"

#define AOTI_DBG_EXPORT extern "C" __attribute__((visibility("default")))

/// The function that the program would have called, in its own type; nullptr where there is no driver.
#define AOTI_DBG_REAL(name) aoti_dbg::real_function<aoti_dbg::DriverFunction::name, decltype(::name)>()

namespace aoti_dbg {

inline constexpr CUresult kNoDriver = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;

template <DriverFunction kFunction, typename Type>
Type* real_function() {
    return reinterpret_cast<Type*>(real_driver_function(kFunction));
}

// What a stream's handle means to a function, and to its twin for the per-thread default stream.
inline CUstream legacy_default(CUstream stream) {
    return stream;
}
inline CUstream per_thread_default(CUstream stream) {
    return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace aoti_dbg
