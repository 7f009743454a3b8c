#include "config/relevant_variables.hpp"

#include <algorithm>
#include <iterator>

namespace aoti_dbg {
namespace {

constexpr std::string_view kBeginnings[] = {"AOTI_DBG_",      "AOT_INDUCTOR_", "PYTORCH_CUDA_ALLOC_CONF",
                                            "TORCHINDUCTOR_", "TRITON_",       "CUDA_COREDUMP_"};
// Variables that the command sets itself.
constexpr std::string_view kOwn[] = {"AOTI_DBG_TALLY", "AOTI_DBG_DEFAULT_LEVEL"};

bool holds(const auto& list, std::string_view name) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

}  // namespace

const std::vector<std::string_view>& relevant_names() {
    static const std::vector<std::string_view> kNames = {
        "AOTI_RUNTIME_CHECK_INPUTS",
        "CUDA_DEVICE_ORDER",
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "CUDA_VISIBLE_DEVICES",
        "LD_PRELOAD",
        "LOCAL_RANK",
        "MKL_NUM_THREADS",
        "NVIDIA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
        "PYTHONFAULTHANDLER",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "PYTORCH_NO_CUDA_MEMORY_CACHING",
        "RANK",
        "SLURM_PROCID",
        "WORLD_SIZE",
    };
    return kNames;
}

bool is_relevant_variable(std::string_view name) {
    if (holds(kOwn, name)) return false;
    return holds(relevant_names(), name) ||
           std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                       [name](std::string_view begins) { return name.rfind(begins, 0) == 0; });
}

}  // namespace aoti_dbg
