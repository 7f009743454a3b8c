// What a renderer has made of facts, by their numbers. Bounded: when it is full, all of it goes, since what a
// model asks for comes again in the next run, and what does not is never asked for again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace aoti_dbg {

/// More than the arguments of a large model, whose facts must not be forgotten in each run; some 10 MiB.
inline constexpr std::size_t kMostCachedFacts = 32768;

template <typename Value>
class FactsCache {
  public:
    /// Null where there is none. Good until make_room() has forgotten it.
    Value* find(std::uint64_t number) {
        const auto found = values_.find(number);
        return found == values_.end() ? nullptr : &found->second;
    }
    Value& add(std::uint64_t number) { return values_[number]; }
    /// To be called where nobody holds what find() gave. Returns whether everything was forgotten.
    bool make_room() {
        if (values_.size() < kMostCachedFacts) return false;
        values_.clear();
        return true;
    }
    void clear() { values_.clear(); }

  private:
    std::unordered_map<std::uint64_t, Value> values_;
};

}  // namespace aoti_dbg
