// Chooses a private output directory for a run under triage if the requested one is unusable or full, so that
// there is still a report. The choice precedes the program's start, because all its processes use one
// variable.
#pragma once

#include <string>

#include "config/options.hpp"

namespace aoti_dbg::cli {

class OutPlace {
  public:
    /// Checks whether AOTI_DBG_OUT is usable for a start at that time. If not, sets it to a private directory
    /// and says so, or warns that none is available.
    OutPlace(const Options& options, std::int64_t start_unix_ns);
    /// Removes the private directory, unless it has a report or saved tensors.
    ~OutPlace();
    OutPlace(const OutPlace&) = delete;
    OutPlace& operator=(const OutPlace&) = delete;

  private:
    std::string private_folder_;  // empty if the requested directory is used
};

}  // namespace aoti_dbg::cli
