// Names the tensors that a run creates, from their place in the wrapper source, and says where the run frees
// them. At run time only the last call site and the number of tensors created since are known. In a body with
// branches or loops that is not enough, so nothing is named there. Nothing is named beyond a call that should
// have come first, either.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/wrapper_info.hpp"

namespace aoti_dbg {

/// A tensor as reports name it.
struct NamedTensor {
    std::string name;              // includes later names of its memory: "buf1 (later buf3)"
    bool has_one_owner = true;     // nothing else holds its memory when the wrapper frees it
    std::uint32_t number = kNone;  // among tensors with a known end (AllocationNames::freed)
};

/// The run frees the tensor before it reaches call site `before`. After the last site, that is the end of the
/// run.
struct FreedTensor {
    std::uint32_t before = 0;
    std::uint32_t tensor = 0;  // NamedTensor::number
};

class AllocationNames {
  public:
    explicit AllocationNames(const WrapperInfo& info);
    AllocationNames(const AllocationNames&) = delete;
    AllocationNames& operator=(const AllocationNames&) = delete;

    /// Returns the `nth` tensor (from 0) created after call site `behind`, or after the start if that is
    /// kNone. Returns nullptr if the source creates none there, or one of other sizes.
    [[nodiscard]] const NamedTensor* find(std::uint32_t behind, std::uint32_t nth,
                                          std::span<const std::int64_t> sizes) const;
    /// Returns the tensor that an op returned, by its first name. Returns nullptr if the source says nothing
    /// else about it.
    [[nodiscard]] const NamedTensor* returned(std::string_view name) const;
    /// Returns what a run frees if it makes all its calls, in order. Numbered tensors that are missing here
    /// are its outputs.
    [[nodiscard]] const std::vector<FreedTensor>& freed() const { return freed_; }
    /// Returns how many tensors have numbers.
    [[nodiscard]] std::uint32_t numbers() const { return numbers_; }
    /// Returns whether no intercepted call follows that site, as in find().
    [[nodiscard]] bool is_last(std::uint32_t behind) const;

  private:
    struct Entry {
        const NamedTensor* tensor = nullptr;
        std::uint32_t before = 0;         // next call site
        std::vector<std::int64_t> sizes;  // kSymbolic if the source has no number
    };
    /// What precedes a call site.
    struct Before {
        std::uint32_t calls = 0;    // calls that are intercepted
        std::uint32_t entries = 0;  // first entry created after the previous site
    };
    /// `ends` maps names to call sites, or to kNone for outputs. A tensor that is missing there ends with the
    /// run.
    void plan_ends(const std::map<std::string_view, std::uint32_t>& ends, std::uint32_t last);

    std::vector<Entry> entries_;
    std::vector<Before> before_;                             // by site, plus one for the end
    std::map<std::string, NamedTensor, std::less<>> known_;  // by their first names
    std::vector<FreedTensor> freed_;
    std::uint32_t numbers_ = 0;
};

}  // namespace aoti_dbg
