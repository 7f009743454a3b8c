// Limits for reading wrapper sources, whatever they contain. They far exceed any model seen. A 1000-way cat
// has 2,800 kilobytes of source, 50 calls and 2,000 arguments in one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aoti_dbg {

inline constexpr std::size_t kMaxSites = std::size_t{1} << 16U;
inline constexpr std::size_t kMaxEntries = std::size_t{1}
                                           << 18U;  // arguments, list elements and nodes together
inline constexpr std::size_t kMaxNames = std::size_t{1} << 18U;      // variables, arrays and frees, each
inline constexpr std::size_t kMaxPositions = std::size_t{1} << 16U;  // inputs, outputs, constants and kernels
inline constexpr std::size_t kMostDimensions = 64;                   // PyTorch's limit
inline constexpr std::size_t kMaxStatementTokens = std::size_t{1} << 18U;
inline constexpr std::size_t kMaxText = std::size_t{1} << 12U;        // an argument or a name
inline constexpr std::size_t kMaxKernelText = std::size_t{1} << 18U;  // a kernel's Python source
inline constexpr std::size_t kMaxKeptText = std::size_t{1} << 26U;    // all texts together

/// Hands out copies of texts until the total shows that something is wrong with the source.
class Keeper {
  public:
    /// Returns a copy, cut at `longest`. Returns an empty text once the allowance is spent.
    std::string keep(std::string_view text, std::size_t longest = kMaxText) {
        if (text.size() > longest) text = text.substr(0, longest);
        if (text.size() > left_) {
            is_exhausted_ = true;
            return {};
        }
        left_ -= text.size();
        return std::string(text);
    }
    /// Returns whether a list of `size` entries may get one more, and records a refusal.
    bool allows(std::size_t size, std::size_t most) {
        if (size < most) return true;
        is_exhausted_ = true;
        return false;
    }
    /// Does the same for small entries. A site may have thousands.
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
