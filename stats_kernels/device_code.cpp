// The two ends of what device_code.S embeds.
#include "stats_kernels/device_code.hpp"

extern "C" {
extern const std::byte aoti_dbg_stats_fatbin[];
extern const std::byte aoti_dbg_stats_fatbin_end[];
}

namespace aoti_dbg {

std::span<const std::byte> device_code() {
    return {aoti_dbg_stats_fatbin, aoti_dbg_stats_fatbin_end};
}

bool has_device_code() {
    return !device_code().empty();
}

}  // namespace aoti_dbg
