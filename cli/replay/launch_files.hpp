// The captured launches of a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "serializer/launch_record.hpp"

namespace aoti_dbg::cli {

struct LaunchFile {
    std::string path;
    std::string events;  // of the same recording
    LaunchRecord launch;
};

/// Reads one file, or all of a recording's folder, in the order of runs and calls. Fails if there is none, or
/// if one is damaged.
Result<std::vector<LaunchFile>> launches_of(const std::string& place);

/// Returns the launch's code. Fails if it was not captured, or has changed since.
Result<std::string> image_of(const LaunchFile& file);

}  // namespace aoti_dbg::cli
