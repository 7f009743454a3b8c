// Adds to calls and findings of a report where their kernels come from.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "triage/gather/kept_origins.hpp"
#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

void add_origin(const SiteOrigin& origin, CrashCall& call);
void add_origin(const SiteOrigin& origin, Finding& finding);

class OriginFacts {
  public:
    /// `trace` may be null. Both must live longer.
    OriginFacts(const std::vector<RecordedProcess>& processes, const TorchTrace* trace)
        : processes_(processes), origins_(trace) {}

    /// `pid` is the process of the finding.
    void complete(std::uint32_t pid, Finding& finding);
    /// Completes the calls of the report. `process` is the one that the report is about; null: none.
    void complete(const RecordedProcess* process, Evidence& evidence);

  private:
    /// Returns the packages of the process's models.
    const KeptPackages& packages_of_process(const RecordedProcess& process);

    const std::vector<RecordedProcess>& processes_;
    KeptOrigins origins_;
    std::map<std::uint32_t, KeptPackages> packages_;  // by pid
};

}  // namespace aoti_dbg
