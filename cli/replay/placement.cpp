#include "cli/replay/placement.hpp"

#include <algorithm>

namespace aoti_dbg::cli {
namespace {

/// Kernels may rely on the alignment that their pointers had.
constexpr std::uint64_t kAlignment = 256;
/// The widest access of one thread. A guard can only be as near as this alignment allows.
constexpr std::uint64_t kAccess = 16;

std::uint64_t rounded_up(std::uint64_t number, std::uint64_t to) {
    return (number + to - 1) / to * to;
}

}  // namespace

Status Placement::place(const std::vector<Region>& regions, PlacementKind kind) {
    if (kind == PlacementKind::as_captured) {
        is_as_captured_ = place_as_captured(regions).ok();
        if (is_as_captured_) return {};
        release();
        return place_anywhere(regions);
    }
    for (const Region& region : regions)
        if (Status placed = place_guarded(region, kind); !placed.ok()) return placed;
    return {};
}

/// Regions in the same page share its memory.
Status Placement::place_as_captured(const std::vector<Region>& regions) {
    const std::uint64_t page = driver_.page_bytes();
    std::vector<Region> spans;
    for (const Region& region : regions) {
        addresses_.push_back(region.begin);
        const Region span{region.begin / page * page, rounded_up(region.end, page)};
        if (!spans.empty() && span.begin <= spans.back().end)
            spans.back().end = std::max(spans.back().end, span.end);
        else
            spans.push_back(span);
    }
    for (const Region& span : spans) {
        const Result<std::uint64_t> reserved = driver_.reserve(span.bytes(), span.begin);
        if (!reserved.ok()) return reserved.status();
        blocks_.push_back({span.begin, span.bytes(), 0, 0});
        if (Status mapped = map(span.begin, span.bytes()); !mapped.ok()) return mapped;
    }
    return {};
}

Status Placement::place_anywhere(const std::vector<Region>& regions) {
    for (const Region& region : regions) {
        const std::uint64_t shift = region.begin % kAlignment;
        // An access a little past the end is as silent as in the program.
        const std::uint64_t bytes = shift + region.bytes() + kAlignment;
        const Result<std::uint64_t> address = driver_.allocate(bytes);
        if (!address.ok()) return address.status();
        blocks_.push_back({0, 0, address.value(), bytes});
        addresses_.push_back(address.value() + shift);
    }
    return {};
}

Status Placement::place_guarded(const Region& region, PlacementKind kind) {
    const std::uint64_t page = driver_.page_bytes();
    const std::uint64_t shift = region.begin % kAccess;
    const std::uint64_t bytes = rounded_up(region.bytes() + kAccess, page);
    const Result<std::uint64_t> reserved = driver_.reserve(bytes + 2 * page, 0);
    if (!reserved.ok()) return reserved.status();
    blocks_.push_back({reserved.value(), bytes + 2 * page, 0, 0});
    const std::uint64_t begin = reserved.value() + page;
    if (Status mapped = map(begin, bytes); !mapped.ok()) return mapped;
    const std::uint64_t last = begin + bytes - region.bytes();
    addresses_.push_back(kind == PlacementKind::begin_guarded ? begin + shift
                                                              : last - (last + kAccess - shift) % kAccess);
    return {};
}

Status Placement::map(std::uint64_t address, std::uint64_t bytes) {
    if (Status mapped = driver_.map(address, bytes); !mapped.ok()) return mapped;
    blocks_.back().address = address;
    blocks_.back().bytes = bytes;
    return {};
}

Status Placement::fill(std::byte value) {
    for (const Block& block : blocks_)
        if (Status filled = driver_.fill(block.address, value, block.bytes); !filled.ok()) return filled;
    return {};
}

void Placement::release() {
    for (const Block& block : blocks_) {
        if (block.reserved == 0) {
            driver_.release(block.address);
            continue;
        }
        if (block.bytes != 0) driver_.unmap(block.address, block.bytes);
        driver_.free_reserved(block.reserved, block.reserved_bytes);
    }
    blocks_.clear();
    addresses_.clear();
}

}  // namespace aoti_dbg::cli
