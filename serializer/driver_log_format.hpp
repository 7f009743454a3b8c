// The driver's log on disk, version 1: the first and the last lines in which the driver said why a call
// failed. The library writes it through a shared mapping, so it survives SIGKILL. The command reads it after
// the process has exited.
//
//   offset 0       FileHeader, one page
//   offset 4096    (first + last) x Line   line number n is at n - 1 up to `first`, then at
//                                          first + (n - first - 1) % last
//
// Integers use the byte order of the writing machine; `magic` shows it. A line with `number` 0 is unused or
// being written. Ticks are those of the flight ring's clock. New fields use reserved bytes only; any other
// change raises kVersion.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::driver_log {

inline constexpr std::uint64_t kMagic = 0x314c524449544f41ULL;  // the bytes "AOTIDRL1", little-endian
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kPage = 4096;
inline constexpr std::uint32_t kFirst = 16;
inline constexpr std::uint32_t kLast = 48;
inline constexpr std::size_t kTextBytes = 472;

/// The driver's CUlogLevel. The numbers are part of the format.
enum class Level : std::uint32_t { error = 0, warning = 1 };

struct FileHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t line_bytes;  // sizeof(Line)
    std::uint32_t pid;
    std::uint32_t first;  // number of the first lines that are kept
    std::uint32_t last;   // number of the last lines that are kept
    std::uint32_t reserved;
    std::uint64_t logged;  // lines so far
    std::uint64_t lost;    // lines that came while another thread wrote to their place
};
static_assert(sizeof(FileHeader) <= kPage);

struct Line {
    std::uint64_t number;  // counts from 1 over the process
    std::uint64_t ticks;
    std::uint64_t unix_ns;
    std::uint32_t thread;
    Level level;
    std::uint32_t bytes;  // of the driver's text, which is cut at kTextBytes
    std::uint32_t reserved;
    char text[kTextBytes];
};
static_assert(sizeof(Line) == 512);

/// Returns the place of the line with that number, which counts from 1.
inline constexpr std::size_t place_of(std::uint64_t number) {
    if (number <= kFirst) return static_cast<std::size_t>(number - 1);
    return kFirst + static_cast<std::size_t>((number - kFirst - 1) % kLast);
}

}  // namespace aoti_dbg::driver_log
