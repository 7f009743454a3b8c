// The names of the tensors that a run makes room for, by where in the wrapper source: known at run time are
// the call site that was passed last and how many were made since. Nothing is named in a body with branches
// or loops, where that is not enough.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

class AllocationNames {
  public:
    explicit AllocationNames(const RunBody& body);

    /// Of the `nth` tensor, from 0, behind call site `behind` (kNone: none was passed yet). nullptr where the
    /// source has none there, or one of other sizes. What takes over its memory is named as well:
    /// "buf1 (later buf3)".
    [[nodiscard]] const std::string* find(std::uint32_t behind, std::uint32_t nth,
                                          std::span<const std::int64_t> sizes) const;

  private:
    struct Entry {
        std::string name;
        std::uint32_t before = 0;         // the call site that comes next
        std::vector<std::int64_t> sizes;  // kSymbolic where the source has no number
    };
    std::vector<Entry> entries_;
};

}  // namespace aoti_dbg
