// Facts of tensors that a thread no longer needs. Measured calls that are not written yet may refer to them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "shim/calls/session_part.hpp"
#include "shim/tensors/tensor_reader.hpp"

namespace aoti_dbg {

/// Keeps facts until enough calls were written.
class RetiredFacts final : public SessionPart {
  public:
    /// A queued call may still refer to the facts, and the search for findings may compare sides of calls
    /// this far apart.
    static constexpr std::uint64_t kCallsKept = 32768;

    void keep(std::vector<FactsPtr> facts);
    /// Call this for each written call.
    void note_written() { written_.fetch_add(1, std::memory_order_relaxed); }

  private:
    struct Kept {
        std::uint64_t until = 0;  // the number of written calls after which `facts` can be freed
        std::vector<FactsPtr> facts;
    };
    std::atomic<std::uint64_t> written_{0};
    std::mutex mutex_;
    std::deque<Kept> kept_;
};

/// Keeps the facts in the current session.
void retire_facts(std::vector<FactsPtr> facts);

}  // namespace aoti_dbg
