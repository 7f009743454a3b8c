// process.jsonl, drawn in docs/reference/evidence.md: what a process that is recorded says of itself when
// that begins, and of each device of CUDA when it first meets it, a line each. Any bytes may stand there when
// it is read.
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
    std::string uuid;                  // "GPU-..." or "MIG-..."; empty: not known
    std::uint32_t driver_version = 0;  // of CUDA that the driver has, 12040 for 12.4; 0: not known
};

struct ProcessFacts {
    std::uint32_t pid = 0;
    std::string rank;  // empty: none
    std::string working_folder;
    std::vector<std::string> command;
    std::vector<std::pair<std::string, std::string>> variables;  // those that are telling, by name
    std::vector<DeviceFacts> devices;                            // in the order in which it met them
};

/// The first line: all but the devices.
void append_process_line(const ProcessFacts& facts, std::string& out);
void append_device_line(const DeviceFacts& device, std::string& out);

/// The whole file. Fails where its first line is not that of such a file, or of a newer one; what else cannot
/// be read is left out.
Result<ProcessFacts> read_process(std::string_view text);

/// Of the process whose flight ring has that path: beside it, with its number.
std::string process_path(const std::string& ring);

/// "GPU-01234567-89ab-..." of sixteen bytes.
std::string uuid_text(const unsigned char* bytes, std::string_view device_name);

}  // namespace aoti_dbg
