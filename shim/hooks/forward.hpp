// Shared by the files that define exported driver hooks. The types come from cuda.h, and the names are the
// symbols of libcuda. cuda.h renames some functions with macros, which __CUDA_API_VERSION_INTERNAL disables.
//
// A hook is an ordinary function that forwards its arguments to the real one. To add one, add a line to
// hooks.def and define the function in the file of its subject:
//
//   AOTI_DBG_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
//                                                 CUstream stream) {
//       return forward<cuMemcpyHtoDAsync_v2>([=] { return writes(to, bytes).on(legacy(stream)); }, to, from,
//                                            bytes, stream);
//   }
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "shim/calls/driver_observer.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/runtime/driver_table.hpp"

#define AOTI_DBG_EXPORT extern "C" __attribute__((visibility("default")))

// Only newer toolkits declare these.
#if CUDA_VERSION < 12050
struct CUctxCreateParams;
#endif
#if CUDA_VERSION < 12080
struct CUmemcpyAttributes;
struct CUDA_MEMCPY3D_BATCH_OP;
#endif

namespace aoti_dbg {

inline constexpr CUresult kNoDriver = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;

/// Returns the exported name of a hook, as the compiler writes it.
template <auto kHook>
constexpr std::string_view exported_name() {
    const std::string_view function = __PRETTY_FUNCTION__;
    constexpr std::string_view kBefore = "kHook = ";
    const std::string_view name = function.substr(function.find(kBefore) + kBefore.size());
    const std::size_t begin = name.find_first_not_of('&');
    return name.substr(begin, name.find_first_of(";]") - begin);
}

/// Finds a hook's line in hooks.def. A hook that has none does not compile.
template <auto kHook>
consteval Hook hook_of() {
    unsigned line = 0;
    while (exported_name<kHook>() != kHookNames[line])
        ++line;
    return static_cast<Hook>(line);
}

/// Returns the function that the program would have called, with the hook's own type. Returns null if there
/// is no driver.
template <auto kHook>
auto real_function() {
    return reinterpret_cast<decltype(kHook)>(real_driver_function(hook_of<kHook>()));
}

// A null stream means different streams to a function and to its twin for the per-thread default stream.
inline CUstream legacy(CUstream stream = nullptr) {
    return stream;
}
inline CUstream per_thread(CUstream stream = nullptr) {
    return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

/// How the real function is called while a fault may be under way.
struct Directly {
    template <typename Real>
    static CUresult call(Real real) {
        return real();
    }
};
/// For calls that inform the host that the device has finished. While a fault is being recorded, the result
/// is held back. A fault is watched for only if waits are recorded, so this costs nothing else.
struct ThroughFault {
    template <typename Real>
    static CUresult call(Real real) {
        return wait_through_fault(real);
    }
};
struct UnlessAborting {
    template <typename Real>
    static CUresult call(Real real) {
        return unless_aborting(real());
    }
};

/// This is a function of its own, so that a hook that no feature watches needs no large stack frame.
template <auto kHook, typename How, typename Describe, typename... Arguments>
[[gnu::noinline]] CUresult call_observed(decltype(kHook) real, Describe describe, Arguments... arguments) {
    DriverEvent event = describe();
    if (!is_kind_observed(event.kind)) return How::call([&] { return real(arguments...); });
    event.hook = hook_of<kHook>();
    const ObservedDriverCall observed(event);
    return observed.end(How::call([&] { return real(arguments...); }));
}

/// Calls the real function of a hook with the same arguments. Only if an observer watches, `describe` returns
/// the DriverEvent that it gets before and after.
template <auto kHook, typename How = Directly, typename Describe, typename... Arguments>
[[gnu::always_inline]] inline CUresult forward(Describe describe, Arguments... arguments) {
    static_assert(std::is_same_v<decltype(kHook), CUresult (*)(Arguments...)>, "pass the hook's parameters");
    auto* const real = real_function<kHook>();
    if (real == nullptr) return kNoDriver;
    if (!is_driver_observed()) [[likely]]
        return real(arguments...);
    return call_observed<kHook, How>(real, describe, arguments...);
}

}  // namespace aoti_dbg
