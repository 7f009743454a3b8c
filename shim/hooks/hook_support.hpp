// Shared by the files that define exported driver hooks. The types come from cuda.h, and the names are the
// symbols of libcuda. cuda.h renames some functions with macros, which __CUDA_API_VERSION_INTERNAL disables.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include "shim/runtime/driver_table.hpp"

#define AOTI_DBG_EXPORT extern "C" __attribute__((visibility("default")))

/// Returns the function that the program would have called, with its own type. Returns null if there is no
/// driver.
#define AOTI_DBG_REAL(name) aoti_dbg::real_function<aoti_dbg::DriverFunction::name, decltype(::name)>()

namespace aoti_dbg {

inline constexpr CUresult kNoDriver = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;

template <DriverFunction kFunction, typename Type>
Type* real_function() {
    return reinterpret_cast<Type*>(real_driver_function(kFunction));
}

// A null stream means different streams to a function and to its twin for the per-thread default stream.
inline CUstream legacy_default(CUstream stream) {
    return stream;
}
inline CUstream per_thread_default(CUstream stream) {
    return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace aoti_dbg
