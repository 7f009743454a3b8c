// Caches what a renderer derives from facts, by their numbers. A full cache is cleared completely: a model's
// facts come back in its next run, and stale ones never do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "serializer/number_map.hpp"

namespace aoti_dbg {

/// Exceeds the arguments of a large model, whose facts must not be evicted in each run; about 10 MiB.
inline constexpr std::size_t kMostCachedFacts = 32768;

template <typename Value>
class FactsCache {
  public:
    /// Returns null if there is none. The pointer is valid until make_room() clears the cache.
    Value* find(std::uint64_t number) { return values_.find(number); }
    Value& add(std::uint64_t number) { return values_.add(number); }
    /// Call it only while no pointer from find() is in use. Returns true if it cleared the cache.
    bool make_room() {
        if (values_.size() < kMostCachedFacts) return false;
        values_.clear();
        return true;
    }
    void clear() { values_.clear(); }

  private:
    NumberMap<Value> values_;
};

}  // namespace aoti_dbg
