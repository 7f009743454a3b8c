// Memory of this GPU for the regions of a captured launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/replay/driver.hpp"
#include "cli/replay/regions.hpp"

namespace aoti_dbg::cli {

enum class PlacementKind {
    as_captured,    // at the addresses of the capture, or anywhere if these are taken
    end_guarded,    // each region ends at addresses without memory
    begin_guarded,  // each region begins right after such addresses
};

class Placement {
  public:
    explicit Placement(Driver& driver) : driver_(driver) {}
    Placement(const Placement&) = delete;
    Placement& operator=(const Placement&) = delete;
    ~Placement() { release(); }

    Status place(const std::vector<Region>& regions, PlacementKind kind);
    [[nodiscard]] std::uint64_t address_of(std::size_t region) const { return addresses_[region]; }
    /// True if all regions are at the addresses of the capture.
    [[nodiscard]] bool is_as_captured() const { return is_as_captured_; }
    /// Fills all memory, including the memory around the regions.
    Status fill(std::byte value);

  private:
    struct Block {
        std::uint64_t reserved = 0;  // 0 if the block is allocated, not mapped
        std::uint64_t reserved_bytes = 0;
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;
    };
    Status place_as_captured(const std::vector<Region>& regions);
    Status place_anywhere(const std::vector<Region>& regions);
    Status place_guarded(const Region& region, PlacementKind kind);
    Status map(std::uint64_t address, std::uint64_t bytes);
    void release();

    Driver& driver_;
    std::vector<Block> blocks_;
    std::vector<std::uint64_t> addresses_;
    bool is_as_captured_ = false;
};

}  // namespace aoti_dbg::cli
