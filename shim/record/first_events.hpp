// Recognizes the first event of each call, so that a call with several events (its name, before, after)
// counts once. Events of one thread arrive in order, events of several threads in any order. Memory is
// bounded. Not thread-safe.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "serializer/measured_event.hpp"

namespace aoti_dbg {

class FirstEvents {
  public:
    /// Returns false for the inputs and outputs of a run, which are not calls.
    bool is_first(const MeasuredCall& event);

  private:
    struct Thread {
        std::vector<std::uint64_t> open;  // calls with an event before, the innermost last
        std::uint64_t ended = 0;          // the last call with an event after
    };
    std::unordered_map<std::uint64_t, Thread> threads_;
};

}  // namespace aoti_dbg
