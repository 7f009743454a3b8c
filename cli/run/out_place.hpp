// Where a run under triage has its output if the folder that was chosen cannot be made, or has no room: a
// private one, so that there is a report. Decided before the program starts, as all its processes go by one
// variable.
#pragma once

#include <string>

#include "config/options.hpp"

namespace aoti_dbg::cli {

class OutPlace {
  public:
    /// Looks whether AOTI_DBG_OUT can be had, for a start at that time. If not, sets it to a private folder,
    /// and says so; or says that there is none either.
    OutPlace(const Options& options, std::int64_t start_unix_ns);
    /// Removes the private folder, unless it holds what was asked for: a report, or saved tensors.
    ~OutPlace();
    OutPlace(const OutPlace&) = delete;
    OutPlace& operator=(const OutPlace&) = delete;

  private:
    std::string private_folder_;  // empty: the chosen one is used
};

}  // namespace aoti_dbg::cli
