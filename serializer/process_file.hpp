// process.jsonl, described in docs/reference/evidence.md. A recorded process writes one line about itself at
// start and one about each CUDA device when it first uses it. Reading accepts any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg {

inline constexpr std::string_view kProcessFormatName = "aoti-dbg-process";
inline constexpr std::uint32_t kProcessFormatVersion = 1;

struct DeviceFacts {
    std::uint32_t number = 0;  // as the process counts devices
    std::string name;
    std::string uuid;                  // "GPU-..." or "MIG-..."; empty: unknown
    std::uint32_t driver_version = 0;  // CUDA version of the driver, 12040 for 12.4; 0: unknown
};

struct ProcessFacts {
    std::uint32_t pid = 0;
    std::string rank;  // empty: none
    std::string working_folder;
    std::vector<std::string> command;
    std::vector<std::pair<std::string, std::string>> variables;  // those that matter for diagnosis, by name
    std::vector<DeviceFacts> devices;                            // in order of first use
};

/// Appends the first line: everything except the devices.
void append_process_line(const ProcessFacts& facts, std::string& out);
void append_device_line(const DeviceFacts& device, std::string& out);

/// Reads the whole file. Fails if its first line is not that of such a file or has a newer version; other
/// unreadable lines are skipped.
Result<ProcessFacts> read_process(std::string_view text);

/// Returns the path beside a process's flight ring, with its number.
std::string process_path(const std::string& ring);

/// Returns "GPU-01234567-89ab-..." for sixteen bytes.
std::string uuid_text(const unsigned char* bytes, std::string_view device_name);

}  // namespace aoti_dbg
