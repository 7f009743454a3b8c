// Compiles the inner loops for the baseline processor and selects the version to use.
#define AOTI_DBG_LANES 2
#define AOTI_DBG_BLOCKS_NAME "baseline"
#include "stats_kernels/cpu_blocks.inc"

namespace aoti_dbg {

const BlockKernels* baseline_block_kernels() {
    return &kKernels;
}

#ifndef AOTI_DBG_X86_64_V3
const BlockKernels* x86_64_v3_block_kernels() {
    return nullptr;
}
#endif

const BlockKernels& block_kernels() {
    const BlockKernels* best = x86_64_v3_block_kernels();
    return best != nullptr ? *best : kKernels;
}

}  // namespace aoti_dbg
