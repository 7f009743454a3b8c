// Reads the driver's log of a process (driver_log_format.hpp), even of a live process or one truncated by a
// crash. It accepts any bytes. It must never trust a number that it has read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/driver_log_format.hpp"

namespace aoti_dbg {

/// A line that the driver logged.
struct DriverLine {
    std::string text;  // clean, on one line
    bool is_warning = false;
    bool is_cut = false;  // the driver's text is longer
    std::uint32_t thread = 0;
    std::uint64_t ticks = 0;
    std::uint64_t unix_ns = 0;
};

struct DriverLog {
    driver_log::FileHeader header{};
    std::vector<DriverLine> lines;  // in order
    std::vector<std::string> notes;
};

/// Fails if `bytes` is not such a file or has a newer version, but never for damage after the header.
Result<DriverLog> parse_driver_log(std::string_view bytes);
Result<DriverLog> read_driver_log(const std::string& path);

/// Returns the path of the log that belongs to a flight ring.
std::string driver_log_path(const std::string& ring);

}  // namespace aoti_dbg
