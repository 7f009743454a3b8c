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

inline constexpr int kNoDevice = -1;
/// Returns the device of the calling thread's context, or kNoDevice.
int current_device();

class CheckedPointers {
  public:
    /// Returns the last right address of each pointer of a model (ModelChecks::LaunchPointer::place).
    std::uint64_t* right_ones(std::uint16_t model, const ModelChecks& checks) {
        if (last_right_ == nullptr || last_model_ != model) find_right_ones(model, checks);
        return last_right_;
    }

    /// Returns true if kernels on `device` may access the address, and it has this alignment. Returns false
    /// if that is not known yet.
    [[nodiscard]] bool is_right(std::uint64_t address, std::uint32_t alignment, int device) {
        if (alignment != 0 && (address & (alignment - 1)) != 0) return false;
        const Range& last = ranges_[last_range_];
        return (last.device == device && address - last.begin < last.bytes) || is_in_range(address, device);
    }

    /// Returns what is wrong with a pointer in the calling thread's context, whose device is `device`.
    /// Without a device, nothing is known.
    std::optional<Mismatch> ask(std::uint64_t address, std::uint32_t alignment, int device);

  private:
    /// Memory that kernels on `device` may access.
    struct Range {
        std::uint64_t begin = 0;
        std::uint64_t bytes = 0;
        int device = kNoDevice;
    };
    // These are segments of a caching allocator and allocations of the program.
    static constexpr std::size_t kRanges = 64;

    void find_right_ones(std::uint16_t model, const ModelChecks& checks);
    [[nodiscard]] bool is_in_range(std::uint64_t address, int device);

    std::map<std::uint16_t, std::vector<std::uint64_t>> right_ones_;
    std::uint16_t last_model_ = 0;
    std::uint64_t* last_right_ = nullptr;  // of that model
    std::array<Range, kRanges> ranges_;
    std::size_t next_range_ = 0;
    std::size_t last_range_ = 0;  // the range with the last address
};

}  // namespace aoti_dbg
