// See flight_ring_reader.hpp. Every number from the file is checked against the available bytes before use.
// Structures are copied out, because blocks may be unaligned.
#include "serializer/flight_ring_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "base/file_bytes.hpp"

namespace aoti_dbg::ring {
namespace {

// Kernel names repeat. No process needs a million of them, but a damaged file may claim so.
constexpr std::size_t kMostNames = 1U << 20U;
// The first few notes suffice to describe the damage.
constexpr std::size_t kMostNotes = 16;

/// Requires offset + sizeof(T) <= bytes.size().
template <typename T>
T copy_at(std::string_view bytes, std::size_t offset) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

void note(Contents& contents, std::string text) {
    if (contents.notes.size() < kMostNotes) contents.notes.push_back(std::move(text));
}

std::string at(std::size_t offset) {
    return " at byte " + std::to_string(offset);
}

void read_names(std::string_view block, std::size_t offset, const BlockHeader& header, Contents& contents) {
    std::string_view entries = block.substr(sizeof(BlockHeader));
    entries = entries.substr(0, std::min<std::uint64_t>(header.used, entries.size()));
    // A live writer may extend a block after it was read here, so ids may have gaps.
    if (header.first_id < contents.names.size() || header.first_id > kMostNames) {
        note(contents, "the names" + at(offset) + " have numbers out of order and are ignored");
        return;
    }
    contents.names.resize(header.first_id);
    for (std::uint32_t i = 0; i < header.count && contents.names.size() < kMostNames; ++i) {
        if (entries.size() < sizeof(std::uint16_t)) break;
        const std::size_t length = copy_at<std::uint16_t>(entries, 0);
        entries.remove_prefix(sizeof(std::uint16_t));
        if (entries.size() < length) break;
        contents.names.emplace_back(entries.substr(0, length));
        entries.remove_prefix(length);
    }
    if (contents.names.size() - header.first_id < header.count) {
        note(contents, "the names" + at(offset) + " are truncated");
    }
}

/// `depth` had two bytes before version 4 and four before version 3.
void read_as_of(std::uint32_t version, Record& record) {
    static_assert(offsetof(Record, context) == offsetof(Record, depth) + 1);
    static_assert(offsetof(Record, mark) == offsetof(Record, depth) + 2);
    const std::string_view bytes(reinterpret_cast<const char*>(&record), sizeof record);
    std::uint32_t depth = copy_at<std::uint16_t>(bytes, offsetof(Record, depth));
    if (version < 3) {
        depth = copy_at<std::uint32_t>(bytes, offsetof(Record, depth));
        record.mark = 0;
    }
    record.depth = static_cast<std::uint8_t>(std::min<std::uint32_t>(depth, UINT8_MAX));
    record.context = 0;
}

void read_markers(std::string_view block, std::size_t offset, const BlockHeader& header, Contents& contents) {
    std::string_view bytes = block.substr(sizeof(BlockHeader));
    if (bytes.size() < sizeof(MarkersHeader))
        return note(contents, "the markers" + at(offset) + " are truncated");
    Markers markers;
    markers.header = copy_at<MarkersHeader>(bytes, 0);
    markers.first = header.first_id;
    bytes.remove_prefix(sizeof(MarkersHeader));
    const std::size_t there = bytes.size() / sizeof(MarkedStream);
    if (header.capacity > there) note(contents, "the markers" + at(offset) + " are truncated");
    markers.streams.resize(std::min<std::size_t>(header.capacity, there));
    for (std::size_t i = 0; i < markers.streams.size(); ++i)
        markers.streams[i] = copy_at<MarkedStream>(bytes, i * sizeof(MarkedStream));
    contents.markers.push_back(std::move(markers));
}

/// Returns the lines of a thread's records, as many as there are whole ones.
std::string_view lines_in(std::string_view slots, const BlockHeader& header, const Contents& contents) {
    const std::size_t at = std::size_t{header.capacity} * sizeof(Record);
    if (contents.header.version < 5 || slots.size() <= at) return {};
    return slots.substr(at, (slots.size() - at) / sizeof(std::uint32_t) * sizeof(std::uint32_t));
}

void read_thread(std::string_view block, std::size_t offset, const BlockHeader& header, Contents& contents) {
    const std::string_view slots = block.substr(sizeof(BlockHeader));
    const std::size_t there = slots.size() / sizeof(Record);
    if (header.capacity > there) note(contents, "the thread's ring" + at(offset) + " is truncated");
    Thread thread;
    thread.tid = header.tid;
    thread.ended = header.ended != 0;
    thread.written = header.written;
    const std::size_t count = std::min<std::size_t>(header.capacity, there);
    const std::string_view lines = lines_in(slots, header, contents);
    for (std::size_t i = 0; i < count; ++i) {
        auto record = copy_at<Record>(slots, i * sizeof(Record));
        if (contents.header.version < 4) read_as_of(contents.header.version, record);
        if (record.seq == 0) continue;
        thread.records.push_back(record);
        const std::size_t at = i * sizeof(std::uint32_t);
        const auto line = at < lines.size() ? copy_at<std::uint32_t>(lines, at) : 0U;
        if (line != 0) thread.lines.emplace(record.seq, line);
    }
    std::sort(thread.records.begin(), thread.records.end(),
              [](const Record& a, const Record& b) { return a.seq < b.seq; });
    contents.threads.push_back(std::move(thread));
}

void read_blocks(std::string_view bytes, Contents& contents) {
    std::size_t offset = kPage;
    while (offset < bytes.size() && bytes.size() - offset >= sizeof(BlockHeader)) {
        const auto header = copy_at<BlockHeader>(bytes, offset);
        if (header.kind == BlockKind::end || header.bytes == 0) return;
        if (header.bytes % kPage != 0) {
            note(contents, "the block" + at(offset) + " has an impossible length. The rest is ignored");
            return;
        }
        const std::string_view block = bytes.substr(offset, header.bytes);
        if (header.kind == BlockKind::names) {
            read_names(block, offset, header, contents);
        } else if (header.kind == BlockKind::thread) {
            read_thread(block, offset, header, contents);
        } else if (header.kind == BlockKind::markers) {
            read_markers(block, offset, header, contents);
        } else {
            note(contents, "the block" + at(offset) + " is of an unknown kind and is ignored");
        }
        if (block.size() < header.bytes) {
            note(contents, "the file ends inside the block" + at(offset));
            return;
        }
        offset += header.bytes;
    }
}

}  // namespace

std::string_view Contents::name(std::uint32_t id) const {
    return id < names.size() && !names[id].empty() ? std::string_view(names[id]) : std::string_view("?");
}

const Markers* Contents::markers_of(std::uint32_t mark) const {
    if (mark == 0) return nullptr;
    const auto found = std::find_if(markers.begin(), markers.end(), [mark](const Markers& one) {
        return mark >= one.first && mark - one.first < one.streams.size();
    });
    return found == markers.end() ? nullptr : &*found;
}

const DeviceContext* Contents::context_of(const Record& record) const {
    if (record.context == 0 || record.context > kMostContexts) return nullptr;
    const DeviceContext& context = header.contexts[record.context - 1];
    return context.handle == 0 ? nullptr : &context;
}

bool Contents::has_several_devices() const {
    const DeviceContext& first = header.contexts[0];
    return std::any_of(std::begin(header.contexts), std::end(header.contexts), [&first](const auto& context) {
        return context.handle != 0 && first.handle != 0 && context.device != first.device;
    });
}

Result<Contents> parse_flight_ring(std::string_view bytes) {
    if (bytes.size() < sizeof(FileHeader)) {
        return Status::error("not a flight recorder ring: too short for the header");
    }
    Contents contents;
    contents.header = copy_at<FileHeader>(bytes, 0);
    FileHeader& header = contents.header;
    constexpr std::uint64_t kSwapped = __builtin_bswap64(kMagic);
    if (header.magic == kSwapped) {
        return Status::error(
            "a flight recorder ring of a machine with another byte order. Read it on such a machine");
    }
    if (header.magic != kMagic || header.version == 0) {
        return Status::error("not a flight recorder ring: it does not start with the magic number");
    }
    if (header.version > kVersion) {
        return Status::error("expected a flight recorder ring of version " + std::to_string(kVersion) +
                             " or older, got version " + std::to_string(header.version) +
                             ". Use the aoti-dbg that came with the library");
    }
    if (header.record_bytes != sizeof(Record)) {
        return Status::error("a damaged flight recorder ring: expected records of " +
                             std::to_string(sizeof(Record)) + " bytes, got " +
                             std::to_string(header.record_bytes));
    }
    header.program[sizeof header.program - 1] = '\0';
    header.library[sizeof header.library - 1] = '\0';
    read_blocks(bytes, contents);
    return contents;
}

Result<Contents> read_flight_ring(const std::string& path) {
    // Data that a live writer appends from here on is ignored.
    const Result<std::string> bytes = read_regular_file(path, "a flight recorder ring", kLargestFile);
    if (!bytes.ok()) return bytes.status();
    Result<Contents> contents = parse_flight_ring(bytes.value());
    if (!contents.ok()) return Status::error(path + ": " + contents.status().message());
    return contents;
}

std::vector<Call> merged_calls(const Contents& contents) {
    std::vector<Call> calls;
    for (const Thread& thread : contents.threads) {
        for (const Record& record : thread.records)
            calls.push_back({&thread, &record});
    }
    std::stable_sort(calls.begin(), calls.end(),
                     [](const Call& a, const Call& b) { return a.record->seq < b.record->seq; });
    return calls;
}

}  // namespace aoti_dbg::ring
