// The numbers of a saved tensor: its statistics, each number, and how they are distributed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "serializer/pt_reader.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg::cli {

/// Copies the elements in logical order, because the file does not align them. The view must outlive it.
class TensorNumbers {
  public:
    explicit TensorNumbers(const PtView& tensor);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] TensorStatistics statistics() const;
    /// Returns one of the numbers of an element.
    [[nodiscard]] double number(std::uint64_t element, std::uint32_t part) const;
    [[nodiscard]] const std::byte* element(std::uint64_t element) const;
    /// Counts the numbers in equal bins between the finite minimum and maximum; of a complex tensor those of
    /// its real parts. Empty if there is no such range.
    [[nodiscard]] std::vector<std::uint64_t> histogram(const Moments& finite, std::size_t bins) const;

  private:
    const PtView& tensor_;
    std::uint64_t count_;
    std::vector<std::byte> bytes_;
};

}  // namespace aoti_dbg::cli
