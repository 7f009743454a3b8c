// Maps a call to its place in the model's source, with the packages that a possibly dead process left
// (kept_packages.hpp). If two packages or places match, it must return none and note why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/kernel_source.hpp"
#include "model/wrapper_info.hpp"
#include "triage/gather/kept_packages.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// The places of a run's calls, up to one call.
struct FoundSource {
    WrapperInfo info;
    std::vector<std::uint32_t> sites;  // of each call; kNone if uncertain. The last one is certain
};

/// `names` are the model's own calls of one run, from its first. The last one is `call` or encloses it.
/// `call` gets its package and, if found, its line and origin.
std::optional<FoundSource> find_source(const KeptPackages& packages, const std::vector<std::string>& names,
                                       CrashCall& call, std::vector<std::string>& notes);

/// Adds the Triton source line and its parameter to a fault with a known kernel and line. `packages` are the
/// candidates.
void find_kernel_line_of(const std::vector<const KeptPackage*>& packages, DeviceFault& fault,
                         std::vector<std::string>& notes);

std::vector<KernelAssertions> assertions_in(const KeptPackage& package);

}  // namespace aoti_dbg
