// Where the flight ring is that somebody means who names a folder.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg::cli {

struct FoundRing {
    std::string path;
    std::vector<std::string> others;  // other rings below the same folder, newest first
};

/// The file itself; or the folder's own flight.ring, that of its `latest`, or the newest below it.
Result<FoundRing> find_ring(const std::string& place);

}  // namespace aoti_dbg::cli
