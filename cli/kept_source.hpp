// Which place of a model's source a call is, from the package's sources that lie in the folder of a process
// that may be gone. Says nothing where two packages, or two places, come into question.
#pragma once

#include <string>
#include <vector>

#include "model/kernel_source.hpp"
#include "serializer/crash_report.hpp"

namespace aoti_dbg::cli {

/// The packages whose sources were kept: name and hash of each.
std::vector<std::string> kept_packages(const std::string& folder);

/// The versions of the libtorch that their models called, each once, in order; none of a torch before 2.9.
std::vector<std::string> kept_torch_versions(const std::string& folder);

/// `names` are those of the model's own calls of one run, in order, from its first one; the last is `call`,
/// which gets its line and what it comes from. Returns its arguments by their names; empty where not known.
/// `parameters` are those of its launch, as its kernel got them; with them it is known where tensors lie.
std::vector<CrashArgument> find_in_source(const std::string& folder, const std::vector<std::string>& names,
                                          CrashCall& call, const std::string& parameters = {});

/// The line of its kernel's Triton source and what it reads or writes, for a fault of a known kernel and
/// line.
void find_kernel_line_of(const std::string& folder, DeviceFault& fault);

/// Of all packages that were kept.
std::vector<KernelAssertions> kept_assertions(const std::string& folder);

}  // namespace aoti_dbg::cli
