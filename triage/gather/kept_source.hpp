// Which place of a model's source a call is, from the packages that lie in the folder of a process that may
// be gone (kept_packages.hpp). Says nothing where two packages, or two places, come into question, but why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/kernel_source.hpp"
#include "model/wrapper_info.hpp"
#include "triage/gather/kept_packages.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// Where the calls of a run up to one stand.
struct FoundSource {
    WrapperInfo info;
    std::vector<std::uint32_t> sites;  // of each call; kNone where it is not certain. That of the last is
};

/// `names` are those of the model's own calls of one run, in order, from its first one; the last is `call`,
/// or lies around it. `call` gets its package, and, where it is found, its line and what it comes from.
std::optional<FoundSource> find_source(const KeptPackages& packages, const std::vector<std::string>& names,
                                       CrashCall& call, std::vector<std::string>& notes);

/// The line of its kernel's Triton source and what it reads or writes, for a fault of a known kernel and
/// line; `packages` are those in which that may stand.
void find_kernel_line_of(const std::vector<const KeptPackage*>& packages, DeviceFault& fault,
                         std::vector<std::string>& notes);

std::vector<KernelAssertions> assertions_in(const KeptPackage& package);

}  // namespace aoti_dbg
