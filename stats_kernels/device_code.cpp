// The bounds of what device_code.S embeds.
#include "stats_kernels/device_code.hpp"

extern "C" {
extern const std::byte aoti_dbg_statistics_fatbin[];
extern const std::byte aoti_dbg_statistics_fatbin_end[];
extern const std::byte aoti_dbg_save_fatbin[];
extern const std::byte aoti_dbg_save_fatbin_end[];
extern const std::byte aoti_dbg_time_fatbin[];
extern const std::byte aoti_dbg_time_fatbin_end[];
}

namespace aoti_dbg {

DeviceCode statistics_code() {
    return {kStatisticsKernel, {aoti_dbg_statistics_fatbin, aoti_dbg_statistics_fatbin_end}};
}

DeviceCode save_code() {
    return {kSaveKernel, {aoti_dbg_save_fatbin, aoti_dbg_save_fatbin_end}};
}

DeviceCode time_code() {
    return {kTimeKernel, {aoti_dbg_time_fatbin, aoti_dbg_time_fatbin_end}};
}

}  // namespace aoti_dbg
