// See text_table.hpp.
#include "cli/text_table.hpp"

#include <algorithm>
#include <cstddef>

namespace aoti_dbg::cli {

constexpr std::size_t kWidestPadding = 72;

std::string aligned(const std::vector<TableRow>& rows, const std::vector<bool>& to_the_right) {
    std::vector<std::size_t> widths(to_the_right.size(), 0);
    for (const TableRow& row : rows) {
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            widths[i] = std::max(widths[i], std::min(row[i].size(), kWidestPadding));
        }
    }
    std::string text;
    for (const TableRow& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] > row[i].size() ? widths[i] - row[i].size() : 0, ' ');
            text += to_the_right[i] ? padding + row[i] : row[i];
            if (i + 1 < row.size()) text += (to_the_right[i] ? "" : padding) + "  ";
        }
        text += '\n';
    }
    return text;
}

}  // namespace aoti_dbg::cli
