// Describes invalid options in sentences. Complaints keeps as many as people read and counts the rest without
// building their texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/option_values.hpp"

namespace aoti_dbg {

/// Returns `expected a or b, got "c": why. Instead. Did you mean "b"?`
std::string explanation(const OptionInfo& info, std::string_view value, const Fault& fault,
                        std::string_view instead);

class Complaints {
  public:
    explicit Complaints(std::vector<std::string>& shown) : shown_(shown) {}

    /// `text` is a function that returns the sentence.
    template <typename Text>
    void add(const Text& text) {
        if (count_++ < kMost) shown_.push_back(text());
    }
    /// Call this once, at the end.
    void close() {
        if (count_ <= kMost) return;
        const std::size_t more = count_ - kMost;
        shown_.push_back(std::to_string(more) +
                         (more == 1 ? " more invalid option." : " more invalid options."));
    }

  private:
    static constexpr std::size_t kMost = 8;  // people fix a few at a time
    std::vector<std::string>& shown_;
    std::size_t count_ = 0;
};

}  // namespace aoti_dbg
