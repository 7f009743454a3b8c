// Reads tables of entries that a process writes into a mapped file while it lives (shim/record/mapped_entry):
// an entry whose `number` is 0 says nothing. Takes any bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg {

/// The header that such a file begins with: a map of `what`. Fails for what is none, or a newer version.
template <typename Header>
Result<Header> mapped_header(std::string_view bytes, std::uint64_t magic, std::uint32_t version,
                             const std::string& what) {
    static_assert(std::is_trivially_copyable_v<Header>);
    Header header{};
    if (bytes.size() < sizeof header)
        return Status::error("not a map of " + what + ": too short for the header");
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != magic || header.version == 0)
        return Status::error("not a map of " + what + ": it does not start with the magic number");
    if (header.version > version)
        return Status::error("expected a map of " + what + " of version " + std::to_string(version) +
                             " or older, got version " + std::to_string(header.version) +
                             ". Use the aoti-dbg that came with the library");
    return header;
}

/// Leaves out those that are empty, or reach beyond all addresses.
template <typename Slot>
void leave_out_impossible(std::vector<Slot>& slots, const std::string& what,
                          std::vector<std::string>& notes) {
    const std::size_t out = std::erase_if(
        slots, [](const Slot& slot) { return slot.bytes == 0 || slot.address > UINT64_MAX - slot.bytes; });
    if (out != 0)
        notes.push_back("the map has " + std::to_string(out) + " impossible " + what + ", which are ignored");
}

/// The whole entries of a table, as many as are there, by their numbers.
template <typename Entry>
std::vector<Entry> mapped_entries(std::string_view bytes, std::size_t offset, std::size_t count,
                                  const char* what, std::vector<std::string>& notes) {
    static_assert(std::is_trivially_copyable_v<Entry>);
    std::vector<Entry> entries;
    const std::size_t there = offset < bytes.size() ? (bytes.size() - offset) / sizeof(Entry) : 0;
    if (there < count) notes.push_back(std::string("the map's ") + what + " are truncated");
    for (std::size_t i = 0; i < std::min(count, there); ++i) {
        Entry entry;
        std::memcpy(&entry, bytes.data() + offset + i * sizeof(Entry), sizeof entry);
        if (entry.number != 0) entries.push_back(entry);
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.number < b.number; });
    return entries;
}

}  // namespace aoti_dbg
