// Compiles the inner loops for processors with AVX2 and FMA. CMake compiles only this file for them.
#define AOTI_DBG_LANES 4
#define AOTI_DBG_BLOCKS_NAME "x86-64-v3"
#include "stats_kernels/cpu_blocks.inc"

namespace aoti_dbg {

const BlockKernels* x86_64_v3_block_kernels() {
    // A constructor of another library may call this before the compiler's own has run.
    __builtin_cpu_init();
    const bool has_it = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                        __builtin_cpu_supports("bmi2") != 0;
    return has_it ? &kKernels : nullptr;
}

}  // namespace aoti_dbg
