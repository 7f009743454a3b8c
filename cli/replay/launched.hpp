// A captured launch with its memory on a GPU: it can run again, and its results compare with the recorded
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/replay/driver.hpp"
#include "cli/replay/launch_files.hpp"
#include "cli/replay/placement.hpp"
#include "cli/tensor_files.hpp"
#include "compare/element_difference.hpp"

namespace aoti_dbg::cli {

/// A tensor after the launch.
struct ReplayedTensor {
    std::string label;
    std::string shape;  // float32[4,128]
    std::uint64_t elements = 0;
    std::optional<std::uint64_t> different;  // elements; no value if there is nothing to compare with
    bool is_recorded = true;                 // false: compared with a launch without poison
    std::uint64_t first = 0;                 // of them
    std::uint64_t poisoned = 0;              // elements still poisoned after the launch; not in `different`
};

/// The elements of each tensor of a launch, in logical order; empty if unknown.
using LaunchResults = std::vector<std::vector<std::byte>>;

struct LaunchedOptions {
    PlacementKind placement = PlacementKind::as_captured;
    std::optional<std::byte> poison;                   // the contents of uninitialized memory
    const LaunchResults* unpoisoned = nullptr;         // the results without poison, if none are recorded
    std::optional<compare::Closeness> tolerance = {};  // no value: results compare bit by bit
};

/// Returns "float32[4,128]".
std::string shape_of(const TensorFacts& facts);

/// True if nothing initializes the tensor before the launch, as far as the model's source says.
bool is_uninitialized(const LaunchRecord& launch, const LaunchTensor& tensor);

class Launched {
  public:
    Launched(Driver& driver, const LaunchFile& file, TensorFiles& tensors, const LaunchedOptions& options)
        : driver_(driver), launch_(file.launch), tensors_(tensors), options_(options), placement_(driver) {}

    /// Allocates the memory that the parameters reach.
    Status prepare();
    /// Restores the contents and launches the kernel.
    Status begin();
    /// Restores the contents, launches the kernel and waits for it.
    Status run();
    /// Returns how many milliseconds `count` launches take, one after the other with the same memory.
    Result<float> time(std::uint32_t count);
    /// Compares each tensor with its recorded contents after the launch. Also returns a hash of all results.
    Result<std::vector<ReplayedTensor>> results(std::uint64_t& hash);

    /// Returns the elements of a tensor after the launch, in logical order.
    Result<std::vector<std::byte>> elements(const LaunchTensor& tensor);
    /// Returns the elements of the tensors whose recorded contents after the launch are not saved.
    Result<LaunchResults> unrecorded();
    /// Returns the recorded elements of a tensor, or nothing if they are not saved.
    [[nodiscard]] std::optional<compare::SavedElements> saved(const LaunchTensor& tensor, EventSide side);

    /// Returns where a tensor is now; 0 if it has no elements.
    [[nodiscard]] std::uint64_t address_of(const LaunchTensor& tensor) const {
        return moved(tensor.address).value_or(0);
    }
    /// Returns how many bytes the parameters reach.
    [[nodiscard]] std::uint64_t bytes() const;

  private:
    [[nodiscard]] std::byte background() const { return options_.poison.value_or(std::byte{0}); }
    /// Returns where captured memory is now.
    [[nodiscard]] std::optional<std::uint64_t> moved(std::uint64_t address) const;
    Status read_contents();
    Status place_parameters();
    Status restore();
    std::vector<void*> parameter_addresses();
    [[nodiscard]] std::optional<compare::SavedElements> expected(const LaunchTensor& tensor);
    void compare(const LaunchTensor& tensor, std::span<const std::byte> found, ReplayedTensor& result);

    Driver& driver_;
    const LaunchRecord& launch_;
    TensorFiles& tensors_;
    LaunchedOptions options_;
    Placement placement_;
    std::vector<Region> regions_;
    std::vector<std::vector<std::byte>> contents_;  // of each region; empty if unknown
    std::vector<std::vector<std::byte>> parameters_;
};

}  // namespace aoti_dbg::cli
