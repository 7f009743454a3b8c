// Reads the helper functions through which a wrapper launches its Triton kernels, including the Python source
// in their comments.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/reading_limits.hpp"
#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// `head` declares a function and ends where its block opens. Returns the kernel if the function is such a
/// helper, and then `reader` continues after its block:
///
///     template <typename in_ptr0_type_, ...>
///     static inline void call_triton_poi_fused_0(const in_ptr0_type_& in_ptr0, ..., int64_t xnumel, int32_t
///     device_idx_, ...){
///         /* async_compile.triton('triton_poi_fused_0', ''' ... ''') */
///         kernels_.triton_poi_fused_0 = loadKernel("....cubin", "triton_poi_fused_0", 0, cubin_dir_);
///         CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());
///         void* kernel_args_[] = {&var_0, ...};
std::optional<TritonKernelInfo> read_triton_helper(const Statement& head, StatementReader& reader,
                                                   Keeper& keeper);

/// Reads the kernel's Python source: signature, mutated arguments, alignments and author. Fills in the types,
/// access and alignment of the parameters in `kernel`.
void read_triton_source(std::string_view source, TritonKernelInfo& kernel, Keeper& keeper);

}  // namespace aoti_dbg
