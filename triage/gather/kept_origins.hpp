// The origins of recorded kernels (model/provenance.hpp), by the packages that a recording keeps of its
// models.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "model/provenance.hpp"
#include "model/torch_trace.hpp"
#include "serializer/crash_call.hpp"
#include "serializer/finding.hpp"
#include "serializer/measured_event.hpp"
#include "triage/gather/kept_packages.hpp"

namespace aoti_dbg {

/// Reads each package once. Use one object for all processes and models of a report.
class KeptOrigins {
  public:
    /// `trace` may be null, and must live longer.
    explicit KeptOrigins(const TorchTrace* trace = nullptr) : trace_(trace) {}

    /// Returns where a kernel of that model comes from. `packages` are those of its process. If several
    /// packages may be the model's, it returns what the recording itself says.
    const SiteOrigin& of(const KeptPackages& packages, std::uint32_t model, const SiteFacts& site);
    const SiteOrigin& of(const KeptPackages& packages, const CrashCall& call);
    const SiteOrigin& of(const KeptPackages& packages, const Finding& finding);

    /// True if packages were read, and the logs have a compilation of none of them.
    [[nodiscard]] bool is_foreign_trace() const;

  private:
    const SiteOrigin& find(const KeptPackages& packages, std::uint32_t model, const NamedSite& site);

    const TorchTrace* trace_;
    std::map<std::string, std::unique_ptr<Provenance>> models_;  // by folder; null: no source
    std::map<std::string, SiteOrigin> found_;                    // by folder, line and kernel
};

}  // namespace aoti_dbg
