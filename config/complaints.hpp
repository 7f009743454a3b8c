// Gathers complaints, not more than a person reads: what is beyond is counted, and its text never made.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace aoti_dbg {

class Complaints {
  public:
    explicit Complaints(std::vector<std::string>& shown) : shown_(shown) {}

    /// `text` is a function that makes the sentence.
    template <typename Text>
    void add(const Text& text) {
        if (count_++ < kMost) shown_.push_back(text());
    }
    /// To be called once, at the end.
    void close() {
        if (count_ <= kMost) return;
        const std::size_t more = count_ - kMost;
        shown_.push_back("and " + std::to_string(more) +
                         (more == 1 ? " more wrong option" : " more wrong options"));
    }

  private:
    static constexpr std::size_t kMost = 8;  // a person reads the first, and repairs a few at a time
    std::vector<std::string>& shown_;
    std::size_t count_ = 0;
};

}  // namespace aoti_dbg
