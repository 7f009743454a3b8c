// Reads the helpers through which a wrapper launches its Triton kernels, and the Python source that stands in
// each as a comment:
//
//   template <typename in_ptr0_type_, ...>
//   static inline void call_triton_poi_fused_0(const in_ptr0_type_& in_ptr0, ..., int64_t xnumel, int32_t
//   device_idx_, ...){
//       /* async_compile.triton('triton_poi_fused_0', ''' ... ''') */
//       kernels_.triton_poi_fused_0 = loadKernel("....cubin", "triton_poi_fused_0", 0, cubin_dir_);
//       CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());
//       void* kernel_args_[] = {&var_0, ...};
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/reading_limits.hpp"
#include "model/statement.hpp"
#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// `head` is the statement that declares a function and ends where its block opens. The kernel, if it is such
/// a helper; `reader` then stands behind its block.
std::optional<TritonKernelInfo> read_triton_helper(const Statement& head, StatementReader& reader,
                                                   Keeper& keeper);

/// What the kernel's Python source says: signature, mutated arguments, alignments, who wrote it. Fills in the
/// types, the access and the alignment of the parameters that `kernel` has.
void read_triton_source(std::string_view source, TritonKernelInfo& kernel, Keeper& keeper);

}  // namespace aoti_dbg
