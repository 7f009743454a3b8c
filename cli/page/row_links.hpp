// Which call wrote the contents of a tensor, and which calls read them: by the memory of the arguments in a
// row's last run, or by their labels if the addresses are unknown.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cli/page/page_rows.hpp"

namespace aoti_dbg::cli {

/// One call reads what another wrote. Rows are those of PageRows::rows, arguments those of their sites.
struct RowLink {
    std::uint32_t writer = kNoIndex32;
    std::uint32_t reader = kNoIndex32;
    std::uint16_t written_argument = 0;
    std::uint16_t argument = 0;  // of the reader
};

class RowLinks {
  public:
    RowLinks() = default;
    explicit RowLinks(std::vector<RowLink> links);
    /// Returns what the call reads. If an argument has several writers, the latest comes last.
    [[nodiscard]] std::span<const RowLink> to(std::uint32_t reader) const;
    /// Returns the readers of what the call wrote, in order: the first kMostReaders for each argument.
    [[nodiscard]] std::span<const RowLink> from(std::uint32_t writer) const;

  private:
    std::vector<RowLink> by_reader_;
    std::vector<RowLink> by_writer_;
};

inline constexpr std::size_t kMostReaders = 16;

/// Returns the rows in the order of a run: by process, model and call.
std::vector<std::uint32_t> order_of_rows(const PageRows& rows);

RowLinks links_between(const PageRows& rows, const std::vector<std::uint32_t>& order);

}  // namespace aoti_dbg::cli
