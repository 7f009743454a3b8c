// Tensors whose shape never changes: constants, and what the wrapper source allocates with numbers only. A
// thread reads the facts of such a tensor once instead of in every call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

struct ShimSignature;
struct SitePlan;

/// Follows the source from call site to call site. `info` must outlive it.
class FixedLayouts {
  public:
    explicit FixedLayouts(const WrapperInfo& info);

    /// From here on, a name refers to memory that had another name.
    void share(const SharedMemory& shared);

    /// Notes the tensors that the call may give another shape. The plan has all arguments, and must outlive
    /// this. `shim` is null unless the call is of a known function.
    void note_call(const SitePlan& plan, const ShimSignature* shim);

    /// Returns the number of a tensor of the current site, or kNone if its layout may change. Equal views of
    /// a tensor have the same number.
    std::uint32_t number_of(const TensorName& tensor);

    /// Returns false if a call anywhere in the source may give the tensor another shape. Ask after all calls
    /// were noted.
    [[nodiscard]] bool stays(std::string_view name) const;

  private:
    [[nodiscard]] std::string_view memory_of(std::string_view name) const;

    // The names that are fixed at the current site, with the first name of their memory.
    std::map<std::string_view, std::string_view> fixed_;
    std::map<std::string_view, std::string_view> all_memory_;  // of all fixed names so far
    std::unordered_set<std::string_view> reshaped_;            // by the first name
    // Also by the first name: what a custom op gets or creates, in any size, and the results of ops on that.
    std::unordered_set<std::string_view> unsized_;
    bool is_any_reshaped_ = false;
    std::map<std::string, std::uint32_t> numbers_;  // by name and view
};

}  // namespace aoti_dbg
