// A captured launch with its memory on a GPU: it can run again, and its results compare with the recorded
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/replay/driver.hpp"
#include "cli/replay/launch_files.hpp"
#include "cli/tensor_files.hpp"

namespace aoti_dbg::cli {

/// A tensor after the launch.
struct ReplayedTensor {
    std::string label;
    std::string shape;  // f32[4,128]
    std::uint64_t elements = 0;
    std::optional<std::uint64_t> different;  // elements; nothing: the recorded result is not saved
    std::uint64_t first = 0;                 // of them
};

class Launched {
  public:
    Launched(Driver& driver, const LaunchFile& file, TensorFiles& tensors)
        : driver_(driver), launch_(file.launch), tensors_(tensors) {}
    Launched(const Launched&) = delete;
    Launched& operator=(const Launched&) = delete;
    ~Launched();

    /// Allocates the memory that the parameters reach.
    Status prepare();
    /// Restores the contents and launches the kernel.
    Status run();
    /// Compares each tensor with its recorded contents after the launch. Also returns a hash of all results.
    Result<std::vector<ReplayedTensor>> results(std::uint64_t& hash);

  private:
    /// Memory that some tensors share.
    struct Region {
        std::uint64_t begin = 0;  // as captured
        std::uint64_t end = 0;
        std::uint64_t allocated = 0;  // here
        std::uint64_t address = 0;    // in it, with the alignment of `begin`
        std::vector<std::byte> contents;
        bool is_known = false;  // the contents
    };
    void find_regions();
    Status fill_regions();
    Status place_parameters();
    [[nodiscard]] Region* region_of(std::uint64_t address);
    [[nodiscard]] std::optional<compare::SavedElements> saved(const LaunchTensor& tensor, EventSide side);

    Driver& driver_;
    const LaunchRecord& launch_;
    TensorFiles& tensors_;
    std::vector<Region> regions_;
    std::vector<std::vector<std::byte>> parameters_;
};

}  // namespace aoti_dbg::cli
