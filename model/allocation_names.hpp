// The names of the tensors that a run makes, by where in the wrapper source, and where there it lets go of
// them: known at run time are the call site that was passed last and how many were made since. Nothing is
// named in a body with branches or loops, where that is not enough, nor behind a call that ought to have come
// first.
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
    std::string name;              // what takes over its memory is named as well: "buf1 (later buf3)"
    bool has_one_owner = true;     // when the wrapper lets go of it, nothing else holds its memory
    std::uint32_t number = kNone;  // of those whose end is known (AllocationNames::freed)
};

/// The run lets go of a tensor before it comes to a call site. Behind the last of them: at its end.
struct FreedTensor {
    std::uint32_t before = 0;
    std::uint32_t tensor = 0;  // NamedTensor::number
};

class AllocationNames {
  public:
    explicit AllocationNames(const WrapperInfo& info);
    AllocationNames(const AllocationNames&) = delete;
    AllocationNames& operator=(const AllocationNames&) = delete;

    /// The `nth` that was made, from 0, behind call site `behind` (kNone: none was passed yet). nullptr where
    /// the source has none there, or one of other sizes.
    [[nodiscard]] const NamedTensor* find(std::uint32_t behind, std::uint32_t nth,
                                          std::span<const std::int64_t> sizes) const;
    /// One that an op has returned under that name, its first; nullptr where the source has no more of it.
    [[nodiscard]] const NamedTensor* returned(std::string_view name) const;
    /// What a run lets go that has made all its calls, in order. Those with numbers that are not in here are
    /// its outputs.
    [[nodiscard]] const std::vector<FreedTensor>& freed() const { return freed_; }
    /// How many have numbers.
    [[nodiscard]] std::uint32_t numbers() const { return numbers_; }
    /// Whether no call that is seen comes behind that site, as in find().
    [[nodiscard]] bool is_last(std::uint32_t behind) const;

  private:
    struct Entry {
        const NamedTensor* tensor = nullptr;
        std::uint32_t before = 0;         // the call site that comes next
        std::vector<std::int64_t> sizes;  // kSymbolic where the source has no number
    };
    /// What lies before a call site.
    struct Before {
        std::uint32_t calls = 0;    // that are seen at run time
        std::uint32_t entries = 0;  // the next is the first that comes behind the site before
    };
    /// `ends`: by names, kNone where there is none. What is not in there ends at the end of the run.
    void plan_ends(const std::map<std::string_view, std::uint32_t>& ends, std::uint32_t last);

    std::vector<Entry> entries_;
    std::vector<Before> before_;                             // by site, and of the end
    std::map<std::string, NamedTensor, std::less<>> known_;  // by their first names
    std::vector<FreedTensor> freed_;
    std::uint32_t numbers_ = 0;
};

}  // namespace aoti_dbg
