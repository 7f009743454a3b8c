// Reads the map of tensors (tensor_map_format.hpp), any bytes, and says which tensors lay at or near an
// address in a piece of the driver's memory. Pure.
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

/// The map that belongs to a flight ring.
std::string tensors_path(const std::string& ring);

/// A tensor of one run.
struct TensorOfRun {
    std::string name;  // in the wrapper source, the first that it had
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    tensors::Origin origin = tensors::Origin::unknown;
};

/// Those whose names are known and that had been made when call number `sequence` began; of several of one
/// name, none.
std::vector<TensorOfRun> tensors_of_run(const TensorMap& map, std::uint32_t run, std::uint32_t model,
                                        std::uint64_t sequence);

/// The tensors of `memory` at `address`, or else nearest to it on both sides, and how many are known in
/// there. Of those at one place the youngest that was made for the launch counts; without a launch the
/// youngest.
void add_near_tensors(const TensorMap& map, std::uint64_t address, const LaunchMoment& launch,
                      NearMemory& memory);

}  // namespace aoti_dbg
