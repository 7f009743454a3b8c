// Writes flight rings by hand to test their readers, as flight_ring_format.hpp draws them. It must share no
// code with the library's writer, so that each checks the other.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "serializer/flight_ring_format.hpp"

namespace aoti_dbg::test {

inline std::string bytes_of(const void* object, std::size_t size) {
    return {static_cast<const char*>(object), size};
}

inline void pad_to_page(std::string& text) {
    text.resize((text.size() + ring::kPage - 1) / ring::kPage * ring::kPage, '\0');
}

inline ring::FileHeader file_header() {
    ring::FileHeader header{};
    header.magic = ring::kMagic;
    header.version = ring::kVersion;
    header.record_bytes = sizeof(ring::Record);
    header.pid = 4242;
    header.start_unix_ns = 1'700'000'000'000'000'000U;
    header.start_ticks = 1000;
    header.anchor_unix_ns = header.start_unix_ns + 2'000'000'000U;
    header.anchor_ticks = header.start_ticks + 1'000'000'000U;  // a tick is 2 ns
    header.runs = 1;
    std::strcpy(header.program, "/usr/bin/victim");
    std::strcpy(header.library, "0.1.0");
    return header;
}

inline std::string file_start(const ring::FileHeader& header = file_header()) {
    std::string text = bytes_of(&header, sizeof header);
    pad_to_page(text);
    return text;
}

inline std::string names_block(const std::vector<std::string>& names, std::uint32_t first_id = 0) {
    std::string entries;
    for (const std::string& name : names) {
        const auto length = static_cast<std::uint16_t>(name.size());
        entries += bytes_of(&length, sizeof length) + name;
    }
    ring::BlockHeader header{};
    header.kind = ring::BlockKind::names;
    header.used = entries.size();
    header.first_id = first_id;
    header.count = static_cast<std::uint32_t>(names.size());
    std::string text = bytes_of(&header, sizeof header) + entries;
    pad_to_page(text);
    header.bytes = text.size();
    std::memcpy(text.data(), &header, sizeof header);
    return text;
}

/// `records` are in writing order. Records beyond `capacity` overwrite the oldest. `lines` are those of the
/// first records.
inline std::string thread_block(std::uint32_t tid, const std::vector<ring::Record>& records,
                                std::uint32_t capacity = 64, const std::vector<std::uint32_t>& lines = {}) {
    ring::BlockHeader header{};
    header.kind = ring::BlockKind::thread;
    header.tid = tid;
    header.capacity = capacity;
    header.written = records.size();
    const std::size_t lines_at = sizeof header + capacity * sizeof(ring::Record);
    std::string text(lines_at + capacity * sizeof(std::uint32_t), '\0');
    for (std::size_t i = 0; i < lines.size(); ++i)
        std::memcpy(text.data() + lines_at + i * sizeof(std::uint32_t), &lines[i], sizeof(std::uint32_t));
    for (std::size_t i = 0; i < records.size(); ++i) {
        std::memcpy(text.data() + sizeof header + i % capacity * sizeof(ring::Record), &records[i],
                    sizeof(ring::Record));
    }
    pad_to_page(text);
    header.bytes = text.size();
    std::memcpy(text.data(), &header, sizeof header);
    return text;
}

/// Returns the markers of one context. The first stream has the mark `first`.
inline std::string markers_block(const ring::MarkersHeader& markers,
                                 const std::vector<ring::MarkedStream>& streams, std::uint32_t first = 1) {
    ring::BlockHeader header{};
    header.kind = ring::BlockKind::markers;
    header.first_id = first;
    header.capacity = static_cast<std::uint32_t>(streams.size());
    std::string text = bytes_of(&header, sizeof header) + bytes_of(&markers, sizeof markers);
    for (const ring::MarkedStream& stream : streams)
        text += bytes_of(&stream, sizeof stream);
    pad_to_page(text);
    header.bytes = text.size();
    std::memcpy(text.data(), &header, sizeof header);
    return text;
}

/// A call that returned 0 after 50 ticks.
inline ring::Record record(std::uint64_t seq, std::uint32_t name) {
    ring::Record result{};
    result.seq = seq;
    result.begin_ticks = 1000 + seq * 100;
    result.end_ticks = result.begin_ticks + 50;
    result.name = name;
    result.run = 0;
    result.call = static_cast<std::uint32_t>(seq);
    result.kind = ring::CallKind::triton;
    result.flags = ring::kEnded;
    return result;
}

inline ring::Record open_record(std::uint64_t seq, std::uint32_t name) {
    ring::Record result = record(seq, name);
    result.end_ticks = 0;
    result.flags = 0;
    return result;
}

}  // namespace aoti_dbg::test
