// Differences of saved tensors that were already computed. A tensor appears as a result, as an argument of
// the calls that read it, and as an output of the run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "compare/element_difference.hpp"
#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

class KnownDifferences {
  public:
    /// Returns null if they are not known, or have no hashes.
    [[nodiscard]] std::shared_ptr<const ElementDifference> of(const RecordedTensor& first,
                                                              const RecordedTensor& second) const {
        for (const Known& known : known_)
            if (known.difference != nullptr && has_hash(first) && has_hash(second) &&
                known.first == first.statistics.hash && known.second == second.statistics.hash)
                return known.difference;
        return nullptr;
    }

    void add(const RecordedTensor& first, const RecordedTensor& second,
             std::shared_ptr<const ElementDifference> difference) {
        if (!has_hash(first) || !has_hash(second)) return;
        known_[next_++ % known_.size()] = {first.statistics.hash, second.statistics.hash,
                                           std::move(difference)};
    }

  private:
    struct Known {
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        std::shared_ptr<const ElementDifference> difference;
    };
    static bool has_hash(const RecordedTensor& tensor) {
        return tensor.is_measured && wants(tensor.statistics.requested, Requested::hash);
    }

    std::array<Known, 64> known_;
    std::size_t next_ = 0;
};

}  // namespace aoti_dbg::compare
