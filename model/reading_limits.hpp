// The bounds under which wrapper sources are read, whatever they hold. Far above any model seen (a 1000-way
// cat has 2,800 kilobytes of source, 50 calls, 2,000 arguments in one of them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aoti_dbg {

inline constexpr std::size_t kMaxSites = std::size_t{1} << 16U;
inline constexpr std::size_t kMaxEntries = std::size_t{1} << 18U;    // arguments, list elements, nodes: all
inline constexpr std::size_t kMaxNames = std::size_t{1} << 18U;      // variables, arrays, frees: each
inline constexpr std::size_t kMaxPositions = std::size_t{1} << 16U;  // inputs, outputs, constants, kernels
inline constexpr std::size_t kMaxStatementTokens = std::size_t{1} << 18U;
inline constexpr std::size_t kMaxText = std::size_t{1} << 12U;        // an argument, a name
inline constexpr std::size_t kMaxKernelText = std::size_t{1} << 18U;  // a kernel's Python source
inline constexpr std::size_t kMaxKeptText = std::size_t{1} << 26U;    // everything together

/// Hands out copies of texts until so much is kept that something must be wrong with the source.
class Keeper {
  public:
    /// A copy, cut at `longest`; empty once the whole allowance is spent.
    std::string keep(std::string_view text, std::size_t longest = kMaxText) {
        if (text.size() > longest) text = text.substr(0, longest);
        if (text.size() > left_) {
            is_exhausted_ = true;
            return {};
        }
        left_ -= text.size();
        return std::string(text);
    }
    /// Whether one more entry may be added to a list that has `size`; notes it if not.
    bool allows(std::size_t size, std::size_t most) {
        if (size < most) return true;
        is_exhausted_ = true;
        return false;
    }
    /// The same for the small things of which a site may have thousands.
    bool allows_entries(std::size_t count) {
        entries_ += count;
        return allows(entries_, kMaxEntries + 1);
    }
    bool allows_entry() { return allows_entries(1); }
    [[nodiscard]] bool is_exhausted() const { return is_exhausted_; }

    std::uint64_t steps = 0;

  private:
    std::size_t left_ = kMaxKeptText;
    std::size_t entries_ = 0;
    bool is_exhausted_ = false;
};

}  // namespace aoti_dbg
