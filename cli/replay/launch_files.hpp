// The captured launches of a recording.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "cli/recording_files.hpp"
#include "serializer/launch_record.hpp"

namespace aoti_dbg::cli {

struct LaunchFile {
    std::string path;    // in `files`, as those below
    std::string events;  // of the same recording
    LaunchRecord launch;
    std::shared_ptr<RecordingFiles> files;
};

/// Returns the folders with captured launches in an output folder, or in its latest run. The newest is the
/// first: each process that finds a folder of an earlier one creates its own.
std::vector<std::string> launch_folders(const std::string& place);

/// Reads one file, or all of a recording's folder or of a bundle, in the order of runs and calls. Fails if
/// there is none, or if one is damaged.
Result<std::vector<LaunchFile>> launches_of(const std::string& place);

/// Returns "run 0, call 41, triton_poi_fused_relu_0".
std::string place_of(const LaunchRecord& launch);

/// Returns a grid or a block as "[7, 2, 1]".
std::string triple_text(const std::array<std::uint32_t, 3>& numbers);

/// Returns the paths of the files beside the launch that its record names.
std::vector<std::string> files_beside(const LaunchFile& file);

/// Returns the tensors that an op creates, which have contents only after it. Their record has no layout.
std::vector<LaunchTensor> created_tensors(const LaunchRecord& launch);

/// Returns the launch's code. Fails if it was not captured, or has changed since.
Result<std::string> image_of(const LaunchFile& file);

}  // namespace aoti_dbg::cli
