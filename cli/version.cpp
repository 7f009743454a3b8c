// See version.hpp.
#include "cli/version.hpp"

namespace aoti_dbg::cli {
namespace {

std::string gpu_code(const std::string& capabilities) {
    if (capabilities.empty()) return "none (built without nvcc)";
    return "compute capability " + capabilities + ", and PTX for later ones";
}

}  // namespace

std::string version_text() {
    return std::string("aoti-dbg " AOTI_DBG_VERSION " (") + kCommit +
           ")\n"
           "PyTorch   tested with 2.11 and 2.15\n"
           "GPU code  " +
           gpu_code(AOTI_DBG_CAPABILITIES) +
           "\n"
           "glibc     " AOTI_DBG_GLIBC " or later";
}

}  // namespace aoti_dbg::cli
