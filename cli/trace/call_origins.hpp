// Where the kernels of one process come from, for its trace: what the packages beside its events and the logs
// of --torch-trace say.
#pragma once

#include <string>

#include "serializer/finding.hpp"
#include "serializer/measured_event.hpp"
#include "triage/gather/kept_origins.hpp"

namespace aoti_dbg::cli {

class CallOrigins {
  public:
    /// `origins` must live longer. `folder` is that of the process's files.
    CallOrigins(KeptOrigins& origins, const std::string& folder, const ProcessOfModels& process)
        : origins_(origins), packages_(folder, process) {}

    /// Completes what is known of a kernel in that model.
    void complete(std::uint32_t model, SiteFacts& site);
    void complete(Finding& finding);

  private:
    KeptOrigins& origins_;
    KeptPackages packages_;
};

}  // namespace aoti_dbg::cli
