// See driver_log.hpp.
#include "serializer/driver_log.hpp"

#include <algorithm>

#include "base/clean_text.hpp"
#include "base/file_bytes.hpp"
#include "serializer/mapped_entries.hpp"
#include "serializer/ring_path.hpp"

namespace aoti_dbg {
namespace {

using driver_log::Level;
using driver_log::Line;

// The library's own file takes 36 KiB.
constexpr std::uint64_t kLargestLog = std::uint64_t{1} << 20U;

/// Returns one clean line. The driver ends its text with a newline, or with a NUL that counts as part of it.
std::string one_line(std::string_view text) {
    constexpr std::string_view kSpace(" \t\r\n\0", 5);
    text = text.substr(0, text.find_last_not_of(kSpace) + 1);
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    std::string line(text);
    std::replace_if(
        line.begin(), line.end(), [](char one) { return one == '\n' || one == '\r' || one == '\t'; }, ' ');
    return clean_text(line);
}

DriverLine line_of(const Line& read) {
    DriverLine line;
    line.text = one_line({read.text, std::min<std::size_t>(read.bytes, sizeof read.text)});
    line.is_warning = read.level == Level::warning;
    line.is_cut = read.bytes > sizeof read.text;
    line.thread = read.thread;
    line.ticks = read.ticks;
    line.unix_ns = read.unix_ns;
    return line;
}

}  // namespace

Result<DriverLog> parse_driver_log(std::string_view bytes) {
    const Result<driver_log::FileHeader> read = mapped_header<driver_log::FileHeader>(
        bytes, driver_log::kMagic, driver_log::kVersion, "the driver's log lines");
    if (!read.ok()) return read.status();
    DriverLog log;
    log.header = read.value();
    if (log.header.line_bytes != sizeof(Line))
        return Status::error("a damaged map of the driver's log lines: its entries have an unexpected size");
    const std::size_t count = std::size_t{log.header.first} + log.header.last;
    for (const Line& line : mapped_entries<Line>(bytes, driver_log::kPage, count, "lines", log.notes))
        if (DriverLine made = line_of(line); !made.text.empty()) log.lines.push_back(std::move(made));
    return log;
}

Result<DriverLog> read_driver_log(const std::string& path) {
    const Result<std::string> bytes = read_regular_file(path, "the driver's log", kLargestLog);
    if (!bytes.ok()) return bytes.status();
    Result<DriverLog> log = parse_driver_log(bytes.value());
    if (!log.ok()) return Status::error(path + ": " + log.status().message());
    return log;
}

std::string driver_log_path(const std::string& ring) {
    return path_beside_ring(ring, "driver_log", ".map");
}

}  // namespace aoti_dbg
