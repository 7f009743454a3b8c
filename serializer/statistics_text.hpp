// The statistics of a tensor as lines of PyTorch's text and as JSON members. Both need the digits of the same
// numbers, and calls often show one result again: after the call that wrote it, before the calls that read
// it, and weights in each run. So it keeps the texts of recent statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/shortest_decimal.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

/// Not thread-safe. It allocates when it is used first.
class StatisticsTexts {
  public:
    /// True for the tensors of most calls: real numbers without NaN and Inf. Other statistics have no text
    /// here.
    static bool are_plain(const TensorStatistics& statistics);

    /// Return the text of plain statistics, valid until the next call. The lines are `Mean value: 0.5` and
    /// those after it. The members begin with a comma.
    std::string_view lines(const TensorStatistics& statistics);
    std::string_view members(const TensorStatistics& statistics);

  private:
    // About two runs of a transformer with eight layers.
    static constexpr unsigned kKeptBits = 9;
    static constexpr std::size_t kKept = std::size_t{1} << kKeptBits;
    static constexpr std::size_t kWords = 11;

    /// What the texts depend on.
    struct Key {
        std::uint64_t words[kWords] = {};
        explicit Key(const TensorStatistics& statistics);
        Key() = default;
        bool operator==(const Key&) const = default;
        [[nodiscard]] std::size_t place() const;
    };
    struct Entry {
        Key key;
        ShortestDecimal mean;
        ShortestDecimal deviation;
        ShortestDecimal minimum;
        ShortestDecimal maximum;
        bool has_lines = false;
        bool has_members = false;
        std::uint16_t lines_size = 0;
        std::uint16_t members_size = 0;
        char lines[256] = {};  // with the room that numbers need
        char members[512] = {};
    };

    Entry& entry_of(const TensorStatistics& statistics);
    static void write_lines(const TensorStatistics& statistics, Entry& entry);
    static void write_members(const TensorStatistics& statistics, Entry& entry);

    std::vector<Entry> entries_;
};

}  // namespace aoti_dbg
