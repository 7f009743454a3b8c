// Reads the map of tensors (tensor_map_format.hpp) and finds the tensors at or near an address in a driver
// allocation. It accepts any bytes and has no side effects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/allocation_map.hpp"
#include "serializer/tensor_map_format.hpp"

namespace aoti_dbg {

struct TensorMap {
    tensors::FileHeader header{};
    std::vector<tensors::Slot> slots;  // by number
    std::vector<std::string> notes;    // what is wrong with it
};

Result<TensorMap> parse_tensor_map(std::string_view bytes);

/// Returns the path of the map that belongs to a flight ring.
std::string tensors_path(const std::string& ring);

/// A tensor of one run.
struct TensorOfRun {
    std::string name;  // its first name in the wrapper source
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    tensors::Origin origin = tensors::Origin::unknown;
};

/// Returns the tensors with known names that existed when call number `sequence` began. If several share a
/// name, it returns none of them.
std::vector<TensorOfRun> tensors_of_run(const TensorMap& map, std::uint32_t run, std::uint32_t model,
                                        std::uint64_t sequence);

/// Adds the tensors of `memory` at `address`, or else the nearest on both sides, and the number of known
/// ones. Of several at one place, the youngest created before the launch counts; without a launch, the
/// youngest.
void add_near_tensors(const TensorMap& map, std::uint64_t address, const LaunchMoment& launch,
                      NearMemory& memory);

}  // namespace aoti_dbg
