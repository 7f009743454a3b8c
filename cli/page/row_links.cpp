// See row_links.hpp.
#include "cli/page/row_links.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace aoti_dbg::cli {
namespace {

struct Write {
    std::uint32_t row = kNoIndex32;
    std::uint16_t argument = 0;
    std::uint32_t run = ~0U;
};

/// What was last written to each piece of memory, and under each name.
class Memory {
  public:
    void clear() {
        pieces_.clear();
        names_.clear();
    }

    void write(const ArgumentPlace& place, std::uint64_t extent, std::string_view label, const Write& write) {
        names_[label] = write;
        if (place.begin == 0 || extent == 0) return;
        const std::uint64_t end = place.begin + extent;
        make_room(place.begin, end);
        pieces_[place.begin] = {end, write};
    }

    /// Visits the writes whose contents a read sees, the first kMostPieces of them: a cache can have
    /// thousands.
    template <typename Visit>
    void read(const ArgumentPlace& place, std::uint64_t extent, std::string_view label, Visit visit) const {
        if (place.begin == 0 || extent == 0) return read(label, visit);
        const std::uint64_t end = place.begin + extent;
        auto piece = pieces_.upper_bound(place.begin);
        if (piece != pieces_.begin()) --piece;
        constexpr std::size_t kMostPieces = 32;
        for (std::size_t seen = 0; seen < kMostPieces && piece != pieces_.end() && piece->first < end;
             ++piece) {
            if (piece->second.end <= place.begin) continue;
            visit(piece->second.write);
            ++seen;
        }
    }

    template <typename Visit>
    void read(std::string_view label, Visit visit) const {
        const auto found = names_.find(label);
        if (found != names_.end()) visit(found->second);
    }

  private:
    struct Piece {
        std::uint64_t end = 0;
        Write write;
    };

    void make_room(std::uint64_t begin, std::uint64_t end) {
        auto piece = pieces_.upper_bound(begin);
        if (piece != pieces_.begin()) --piece;
        while (piece != pieces_.end() && piece->first < end) {
            if (piece->second.end <= begin) {
                ++piece;
                continue;
            }
            const Piece old = piece->second;
            const std::uint64_t old_begin = piece->first;
            piece = pieces_.erase(piece);
            if (old_begin < begin) pieces_[old_begin] = {begin, old.write};
            if (old.end > end) pieces_[end] = old;
        }
    }

    std::map<std::uint64_t, Piece> pieces_;  // by begin
    std::unordered_map<std::string_view, Write> names_;
};

int stage_of(EventSide side) {
    if (side == EventSide::inputs) return 0;
    return side == EventSide::outputs ? 2 : 1;
}

class Linker {
  public:
    explicit Linker(const PageRows& rows) : rows_(rows) {}

    void begin() { memory_.clear(); }

    void take(std::uint32_t index) {
        const PageRow& row = rows_.rows[index];
        const PageSite& site = rows_.sites[row.site];
        for (const ArgumentPlace& place : row.places) {
            if (!place.is_read) continue;
            const std::size_t begin = links_.size();
            const std::string& label = site.arguments[place.argument].label;
            const auto link_to = [&](const Write& write) {
                links_.push_back({write.row, index, write.argument, place.argument});
            };
            memory_.read(place, extent_of(place), label, [&](const Write& write) {
                if (write.run == row.last_run && write.row != index) link_to(write);
            });
            // If the writer ran again after this call, its memory says nothing, but its name does.
            if (links_.size() == begin)
                memory_.read(label, [&](const Write& write) {
                    const bool is_same_site = rows_.rows[write.row].site == row.site;
                    if (write.run > row.last_run && !is_same_site) link_to(write);
                });
            std::sort(links_.begin() + static_cast<std::ptrdiff_t>(begin), links_.end(),
                      [this](const RowLink& one, const RowLink& other) { return is_before(one, other); });
        }
        for (const ArgumentPlace& place : row.places)
            if (place.is_written)
                memory_.write(place, extent_of(place), site.arguments[place.argument].label,
                              {index, place.argument, row.last_run});
    }

    [[nodiscard]] std::vector<RowLink> links() { return std::move(links_); }

  private:
    [[nodiscard]] std::uint64_t extent_of(const ArgumentPlace& place) const {
        return place.layout == kNoIndex32 ? 0 : rows_.layouts[place.layout].extent;
    }
    [[nodiscard]] bool is_before(const RowLink& one, const RowLink& other) const {
        const PageRow& a = rows_.rows[one.writer];
        const PageRow& b = rows_.rows[other.writer];
        return std::pair(stage_of(a.side), a.call) < std::pair(stage_of(b.side), b.call);
    }

    const PageRows& rows_;
    std::vector<RowLink> links_;
    Memory memory_;
};

/// `links` are sorted by `row`.
std::span<const RowLink> those_of(const std::vector<RowLink>& links, std::uint32_t row,
                                  std::uint32_t RowLink::*member) {
    const auto begin = std::ranges::lower_bound(links, row, {}, member);
    const auto end = std::ranges::upper_bound(links, row, {}, member);
    return {begin, end};
}

/// Keeps the first readers of each written argument.
void keep_few(std::vector<RowLink>& by_writer) {
    std::size_t count = 0;
    const RowLink* last = nullptr;
    std::vector<RowLink> kept;
    for (const RowLink& link : by_writer) {
        const bool is_same =
            last != nullptr && last->writer == link.writer && last->written_argument == link.written_argument;
        count = is_same ? count + 1 : 1;
        if (count <= kMostReaders && !(is_same && last->reader == link.reader)) kept.push_back(link);
        last = &link;
    }
    by_writer = std::move(kept);
}

}  // namespace

std::vector<std::uint32_t> order_of_rows(const PageRows& rows) {
    std::vector<std::uint32_t> order(rows.rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t index) {
        const PageRow& row = rows.rows[index];
        return std::tuple(row.process, rows.sites[row.site].model, stage_of(row.side), row.call);
    });
    return order;
}

RowLinks::RowLinks(std::vector<RowLink> links) : by_reader_(std::move(links)) {
    std::ranges::stable_sort(by_reader_, {}, &RowLink::reader);
    by_writer_ = by_reader_;
    std::ranges::stable_sort(
        by_writer_, {}, [](const RowLink& link) { return std::pair(link.writer, link.written_argument); });
    keep_few(by_writer_);
}

std::span<const RowLink> RowLinks::to(std::uint32_t reader) const {
    return those_of(by_reader_, reader, &RowLink::reader);
}

std::span<const RowLink> RowLinks::from(std::uint32_t writer) const {
    return those_of(by_writer_, writer, &RowLink::writer);
}

RowLinks links_between(const PageRows& rows, const std::vector<std::uint32_t>& order) {
    Linker linker(rows);
    std::uint64_t last = ~std::uint64_t{0};
    for (const std::uint32_t index : order) {
        const PageRow& row = rows.rows[index];
        const std::uint64_t whose = std::uint64_t{row.process} << 32U | rows.sites[row.site].model;
        if (whose != last) linker.begin();
        last = whose;
        linker.take(index);
    }
    return RowLinks(linker.links());
}

}  // namespace aoti_dbg::cli
