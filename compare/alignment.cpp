// The greedy algorithm of Myers ("An O(ND) difference algorithm and its variations", 1986), with his
// refinement for linear memory: find the middle of a shortest edit script, then solve both halves.
#include "compare/alignment.hpp"

#include <algorithm>

namespace aoti_dbg::compare {
namespace {

using Range = std::span<const std::uint32_t>;

/// Beyond this many differences the result may have fewer pairs than possible. It bounds the time.
constexpr std::int64_t kMostDifferences = 4096;

struct Middle {
    std::size_t first = 0;
    std::size_t second = 0;
};

/// Searches from both ends at the same time. The ends of both ranges differ.
class MiddleSearch {
  public:
    MiddleSearch(Range first, Range second)
        : first_(first),
          second_(second),
          length_(ssize(first)),
          width_(ssize(second)),
          reach_((length_ + width_ + 1) / 2 + 1),
          forward_(2 * reach_ + 1),
          backward_(2 * reach_ + 1) {}

    Middle find() {
        const std::int64_t last = std::min(reach_ - 1, kMostDifferences);
        for (std::int64_t steps = 0; steps <= last; ++steps) {
            if (advance(steps) || retreat(steps)) return middle_;
        }
        return furthest(last);
    }

  private:
    static std::int64_t ssize(Range range) { return static_cast<std::int64_t>(range.size()); }
    std::int64_t& at(std::vector<std::int64_t>& ends, std::int64_t diagonal) const {
        return ends[static_cast<std::size_t>(diagonal + reach_)];
    }
    void meet(std::int64_t x, std::int64_t y) {
        middle_ = {static_cast<std::size_t>(x), static_cast<std::size_t>(y)};
    }

    /// Makes a path one difference longer, and follows equal elements. Returns how many of the first range it
    /// has passed. `is_equal` compares the elements at two distances from the start of the path.
    template <typename IsEqual>
    std::int64_t extend(std::vector<std::int64_t>& ends, std::int64_t diagonal, std::int64_t steps,
                        IsEqual is_equal) const {
        std::int64_t x = 0;
        if (steps != 0) {
            const std::int64_t lower = at(ends, diagonal - 1);
            const std::int64_t upper = at(ends, diagonal + 1);
            const bool goes_down = diagonal == -steps || (diagonal != steps && lower < upper);
            x = goes_down ? upper : lower + 1;
        }
        while (x < length_ && x >= diagonal && x - diagonal < width_ &&
               is_equal(static_cast<std::size_t>(x), static_cast<std::size_t>(x - diagonal)))
            ++x;
        at(ends, diagonal) = x;
        return x;
    }

    /// Extends each forward path. Returns true when one meets a backward path.
    bool advance(std::int64_t steps) {
        const std::int64_t delta = length_ - width_;
        for (std::int64_t diagonal = -steps; diagonal <= steps; diagonal += 2) {
            const std::int64_t x = extend(forward_, diagonal, steps, [&](std::size_t one, std::size_t other) {
                return first_[one] == second_[other];
            });
            const std::int64_t opposite = delta - diagonal;
            if (delta % 2 == 0 || std::abs(opposite) > steps - 1) continue;
            if (x + at(backward_, opposite) < length_ || !is_inside(x, x - diagonal)) continue;
            meet(x, x - diagonal);
            return true;
        }
        return false;
    }
    bool retreat(std::int64_t steps) {
        const std::int64_t delta = length_ - width_;
        for (std::int64_t diagonal = -steps; diagonal <= steps; diagonal += 2) {
            const std::int64_t x =
                extend(backward_, diagonal, steps, [&](std::size_t one, std::size_t other) {
                    return first_[first_.size() - 1 - one] == second_[second_.size() - 1 - other];
                });
            const std::int64_t opposite = delta - diagonal;
            if (delta % 2 != 0 || std::abs(opposite) > steps) continue;
            if (x + at(forward_, opposite) < length_ || !is_inside(length_ - x, width_ - x + diagonal))
                continue;
            meet(length_ - x, width_ - x + diagonal);
            return true;
        }
        return false;
    }
    [[nodiscard]] bool is_inside(std::int64_t x, std::int64_t y) const {
        return x >= 0 && x <= length_ && y >= 0 && y <= width_;
    }
    /// Returns the end of the forward path that has passed most elements.
    Middle furthest(std::int64_t steps) {
        std::int64_t best = -1;
        for (std::int64_t diagonal = -steps; diagonal <= steps; diagonal += 2) {
            const std::int64_t x = at(forward_, diagonal);
            if (!is_inside(x, x - diagonal) || 2 * x - diagonal <= best) continue;
            best = 2 * x - diagonal;
            meet(x, x - diagonal);
        }
        return middle_;
    }

    Range first_;
    Range second_;
    std::int64_t length_;
    std::int64_t width_;
    std::int64_t reach_;
    // How many elements of the first range each path has passed, by diagonal.
    std::vector<std::int64_t> forward_;
    std::vector<std::int64_t> backward_;
    Middle middle_;
};

struct Part {
    std::size_t first = 0, first_end = 0;
    std::size_t second = 0, second_end = 0;
};

void append_alone(const Part& part, std::vector<Aligned>& out) {
    for (std::size_t i = part.first; i < part.first_end; ++i)
        out.push_back({i, kNoPartner});
    for (std::size_t i = part.second; i < part.second_end; ++i)
        out.push_back({kNoPartner, i});
}

/// Solves parts from a stack instead of by recursion, because a bad split can be deep.
void solve(Range first, Range second, std::vector<Aligned>& out) {
    std::vector<Part> open{{0, first.size(), 0, second.size()}};
    while (!open.empty()) {
        Part part = open.back();
        open.pop_back();
        while (part.first < part.first_end && part.second < part.second_end &&
               first[part.first] == second[part.second])
            out.push_back({part.first++, part.second++});
        if (part.first == part.first_end || part.second == part.second_end) {
            append_alone(part, out);
            continue;
        }
        std::size_t suffix = 0;
        while (part.first < part.first_end - suffix && part.second < part.second_end - suffix &&
               first[part.first_end - 1 - suffix] == second[part.second_end - 1 - suffix])
            ++suffix;
        if (suffix != 0) {
            open.push_back(
                {part.first_end - suffix, part.first_end, part.second_end - suffix, part.second_end});
            part.first_end -= suffix;
            part.second_end -= suffix;
        }
        const Range ours = first.subspan(part.first, part.first_end - part.first);
        const Range theirs = second.subspan(part.second, part.second_end - part.second);
        if (ours.empty() || theirs.empty()) {
            append_alone(part, out);
            continue;
        }
        const Middle middle = MiddleSearch(ours, theirs).find();
        const std::size_t x = part.first + middle.first;
        const std::size_t y = part.second + middle.second;
        const bool is_split =
            (x != part.first || y != part.second) && (x != part.first_end || y != part.second_end);
        if (!is_split) {
            append_alone(part, out);
            continue;
        }
        open.push_back({x, part.first_end, y, part.second_end});
        open.push_back({part.first, x, part.second, y});
    }
}

std::span<const std::uint32_t> keys_between(const Keys& keys, std::size_t begin, std::size_t end) {
    return std::span(keys).subspan(begin, end - begin);
}

}  // namespace

std::vector<Aligned> align(std::span<const std::uint32_t> first, std::span<const std::uint32_t> second) {
    std::vector<Aligned> out;
    out.reserve(std::max(first.size(), second.size()));
    solve(first, second, out);
    return out;
}

std::vector<Aligned> align(std::span<const Keys> first, std::span<const Keys> second) {
    std::vector<Aligned> result = align(first[0], second[0]);
    for (std::size_t level = 1; level < first.size(); ++level) {
        std::vector<Aligned> finer;
        finer.reserve(result.size());
        std::size_t ours = 0;
        std::size_t theirs = 0;
        const auto fill_to = [&](std::size_t our_end, std::size_t their_end) {
            for (Aligned pair : align(keys_between(first[level], ours, our_end),
                                      keys_between(second[level], theirs, their_end))) {
                if (pair.first != kNoPartner) pair.first += ours;
                if (pair.second != kNoPartner) pair.second += theirs;
                finer.push_back(pair);
            }
        };
        for (const Aligned& pair : result) {
            if (pair.first == kNoPartner || pair.second == kNoPartner) continue;
            fill_to(pair.first, pair.second);
            finer.push_back(pair);
            ours = pair.first + 1;
            theirs = pair.second + 1;
        }
        fill_to(first[level].size(), second[level].size());
        result = std::move(finer);
    }
    return result;
}

}  // namespace aoti_dbg::compare
