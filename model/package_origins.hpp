// Finds the calls of a wrapper source in kernel_information.json, whose keys are "kernel:handle".
#pragma once

#include <string_view>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// True if the key is of a call of that kernel. `symbol` is the function called, if it has another name.
bool is_key_of(std::string_view key, std::string_view kernel, std::string_view symbol);

/// The origins of one model's kernels.
class PackageOrigins {
  public:
    /// `info` must live longer.
    explicit PackageOrigins(const WrapperInfo& info);

    /// Returns null if the package does not say it, or if its file belongs to another build.
    [[nodiscard]] const KernelOrigin* of(const CallSite& site, std::string_view kernel,
                                         std::string_view symbol) const;

  private:
    const WrapperInfo& info_;
    bool is_its_ = false;
};

}  // namespace aoti_dbg
