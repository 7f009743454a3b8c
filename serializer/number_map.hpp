// A map from numbers that are mostly consecutive, as those of facts are. It takes half the instructions
// of std::unordered_map to find a value, and each argument of each call needs several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace aoti_dbg {

template <typename Value>
class NumberMap {
  public:
    NumberMap() = default;
    // Slots point into the values.
    NumberMap(const NumberMap&) = delete;
    NumberMap& operator=(const NumberMap&) = delete;
    NumberMap(NumberMap&&) noexcept = default;
    NumberMap& operator=(NumberMap&&) noexcept = default;

    /// Returns null if there is none. The pointer is valid until clear().
    [[nodiscard]] Value* find(std::uint64_t number) const {
        return slots_.empty() ? nullptr : slots_[place_of(number)].value;
    }
    /// Returns the value of that number, a new one if there is none.
    Value& add(std::uint64_t number) {
        if (Value* const known = find(number)) return *known;
        if (2 * values_.size() >= slots_.size()) grow();
        slots_[place_of(number)] = {number, &values_.emplace_back()};
        return values_.back();
    }
    [[nodiscard]] std::size_t size() const { return values_.size(); }
    void clear() {
        slots_.clear();
        values_.clear();
    }

  private:
    struct Slot {
        std::uint64_t number = 0;
        Value* value = nullptr;  // null: unused
    };

    /// Returns the place of a number, or the one where it belongs.
    [[nodiscard]] std::size_t place_of(std::uint64_t number) const {
        const std::size_t last = slots_.size() - 1;
        // A recording may have any numbers, so their lower bits may all be equal.
        std::size_t place = (number ^ (number * 0x9E3779B97F4A7C15U >> 40U)) & last;
        while (slots_[place].value != nullptr && slots_[place].number != number)
            place = (place + 1) & last;
        return place;
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.value != nullptr) slots_[place_of(slot.number)] = slot;
    }

    std::vector<Slot> slots_;  // a power of two of them, at most half of them in use
    std::deque<Value> values_;
};

}  // namespace aoti_dbg
