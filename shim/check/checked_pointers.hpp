// Caches, for one thread, what the driver said about pointers of kernel launches, so that each is queried
// once. It remembers only pointers that were right.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "shim/check/model_checks.hpp"

namespace aoti_dbg {

class CheckedPointers {
  public:
    /// Returns the last right address of each pointer of a model (ModelChecks::LaunchPointer::place).
    std::vector<std::uint64_t>& right_ones(std::uint16_t model, const ModelChecks& checks);

    /// Returns what is wrong with a pointer in the calling thread's context.
    std::optional<Mismatch> ask(std::uint64_t address, std::uint32_t alignment);

  private:
    /// Memory that kernels on `device` may access.
    struct Range {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        int device = -1;
    };
    // These are segments of a caching allocator and allocations of the program.
    static constexpr std::size_t kRanges = 64;

    [[nodiscard]] bool is_in_range(std::uint64_t address, int device) const;

    std::map<std::uint16_t, std::vector<std::uint64_t>> right_ones_;
    std::array<Range, kRanges> ranges_;
    std::size_t next_range_ = 0;
};

}  // namespace aoti_dbg
