// Reads tables that a live process writes into a mapped file (shim/record/mapped_entry). An entry whose
// `number` is 0 is ignored. It accepts any bytes.
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

/// Reads the header of a map of `what`. Fails if it is not such a map or has a newer version.
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

/// Removes slots that are empty or extend past the end of the address space.
template <typename Slot>
void leave_out_impossible(std::vector<Slot>& slots, const std::string& what,
                          std::vector<std::string>& notes) {
    const std::size_t out = std::erase_if(
        slots, [](const Slot& slot) { return slot.bytes == 0 || slot.address > UINT64_MAX - slot.bytes; });
    if (out != 0)
        notes.push_back("the map has " + std::to_string(out) + " impossible " + what + ", which are ignored");
}

/// Returns the complete entries of a table, as many as the file contains, by number.
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
