// The outcomes of all replays of one launch, and the text that is printed about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/replay/launched.hpp"

namespace aoti_dbg::cli {

enum class ReplayOutcome {
    equal,
    unrecorded,  // it ran, and no result is recorded
    different,
    failed,   // the kernel failed
    trouble,  // it could not be replayed
};

class Outcomes {
  public:
    void add(std::uint64_t hash, std::vector<ReplayedTensor> results);

    [[nodiscard]] ReplayOutcome outcome() const;
    /// True if all launches gave the same results.
    [[nodiscard]] bool is_stable() const { return by_hash_.size() == 1; }
    /// The results of the first launch.
    [[nodiscard]] const std::vector<ReplayedTensor>& first() const { return first_; }
    /// Returns whole lines about the first outcome, and how many there were.
    [[nodiscard]] std::string text(const LaunchRecord& launch, const LaunchedOptions& options) const;

  private:
    [[nodiscard]] bool is_as_recorded() const;
    [[nodiscard]] bool is_compared() const;

    std::uint64_t count_ = 0;
    std::map<std::uint64_t, std::uint64_t> by_hash_;
    std::vector<ReplayedTensor> first_;
};

}  // namespace aoti_dbg::cli
