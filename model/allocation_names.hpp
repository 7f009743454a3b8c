// The names of the tensors that a run makes, by where in the wrapper source: known at run time are the call
// site that was passed last and how many were made since. Nothing is named in a body with branches or loops,
// where that is not enough, nor behind a call that ought to have come first.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// A tensor as a report calls it.
struct NamedTensor {
    std::string name;           // what takes over its memory is named as well: "buf1 (later buf3)"
    bool has_one_owner = true;  // when the wrapper lets go of it, nothing else holds its memory
};

class AllocationNames {
  public:
    explicit AllocationNames(const WrapperInfo& info);

    /// The `nth` that was made, from 0, behind call site `behind` (kNone: none was passed yet). nullptr where
    /// the source has none there, or one of other sizes.
    [[nodiscard]] const NamedTensor* find(std::uint32_t behind, std::uint32_t nth,
                                          std::span<const std::int64_t> sizes) const;
    /// One that an op has returned under that name; nullptr where nothing more is known of it.
    [[nodiscard]] const NamedTensor* returned(std::string_view name) const;

  private:
    struct Entry {
        NamedTensor tensor;
        std::uint32_t before = 0;         // the call site that comes next
        std::vector<std::int64_t> sizes;  // kSymbolic where the source has no number
    };
    /// What lies before a call site.
    struct Before {
        std::uint32_t calls = 0;    // that are seen at run time
        std::uint32_t entries = 0;  // the next is the first that comes behind the site before
    };
    std::vector<Entry> entries_;
    std::vector<Before> before_;                              // by site, and of the end
    std::map<std::string, NamedTensor, std::less<>> shared_;  // by their first names
};

}  // namespace aoti_dbg
