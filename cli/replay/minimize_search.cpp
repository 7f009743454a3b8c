#include "cli/replay/minimize_search.hpp"

#include <algorithm>

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kMostRanges = 8;

std::string range_words(std::size_t first, std::size_t last) {
    if (first == last) return std::to_string(first);
    return std::to_string(first) + (last == first + 1 ? " and " : " to ") + std::to_string(last);
}

Rows without(const Rows& rows, std::size_t begin, std::size_t end) {
    Rows rest(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(begin));
    rest.insert(rest.end(), rows.begin() + static_cast<std::ptrdiff_t>(end), rows.end());
    return rest;
}

}  // namespace

std::uint32_t smallest_prefix(std::uint32_t most, const std::function<bool(std::uint32_t)>& holds) {
    std::uint32_t least = 1;
    while (least < most) {
        const std::uint32_t middle = least + (most - least) / 2;
        if (holds(middle))
            most = middle;
        else
            least = middle + 1;
    }
    return most;
}

Rows needed_rows(Rows rows, std::size_t most_trials, const std::function<bool(const Rows&)>& holds) {
    std::size_t trials = 0;
    for (std::size_t chunk = (rows.size() + 1) / 2; chunk != 0; chunk /= 2) {
        for (std::size_t at = 0; at < rows.size() && rows.size() > 1;) {
            if (trials++ == most_trials) return rows;
            const std::size_t end = std::min(at + chunk, rows.size());
            Rows rest = without(rows, at, end);
            if (!rest.empty() && holds(rest))
                rows = std::move(rest);
            else
                at = end;
        }
    }
    return rows;
}

std::string row_words(const Rows& rows, std::size_t count) {
    std::vector<std::string> ranges;
    for (std::size_t i = 0; i < rows.size();) {
        std::size_t end = i + 1;
        while (end < rows.size() && rows[end] == rows[end - 1] + 1)
            ++end;
        ranges.push_back(range_words(rows[i], rows[end - 1]));
        i = end;
    }
    if (ranges.size() > kMostRanges)
        return std::to_string(rows.size()) + " of " + std::to_string(count) + " rows matter";
    std::string list;
    for (std::size_t i = 0; i < ranges.size(); ++i)
        list += (i == 0 ? "" : ", ") + ranges[i];
    const bool is_one = rows.size() == 1;
    return (is_one ? "row " : "rows ") + list + " of " + std::to_string(count) +
           (is_one ? " matters" : " matter");
}

}  // namespace aoti_dbg::cli
