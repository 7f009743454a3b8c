// Reads tables of entries that a process writes into a mapped file while it lives (shim/report/mapped_entry):
// an entry whose `number` is 0 says nothing. Takes any bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace aoti_dbg {

/// The whole entries of a table, as many as are there, by their numbers.
template <typename Entry>
std::vector<Entry> mapped_entries(std::string_view bytes, std::size_t offset, std::size_t count,
                                  const char* what, std::vector<std::string>& notes) {
    static_assert(std::is_trivially_copyable_v<Entry>);
    std::vector<Entry> entries;
    const std::size_t there = offset < bytes.size() ? (bytes.size() - offset) / sizeof(Entry) : 0;
    if (there < count) notes.push_back(std::string("the map's ") + what + " are cut off");
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
