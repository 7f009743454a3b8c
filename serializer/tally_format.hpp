// Counts of the processes in one `aoti-dbg run`: a page of shared memory that the command creates.
// AOTI_DBG_TALLY names it to the library as a path below /proc. Each process maps it at start and raises its
// counts with atomic additions. It survives any exit of a process.
//
//   bytes  0..7   magic "AOTITLY1"
//   bytes  8..15  pid of the started program (the start); whether an option error was printed
//   bytes 16..23  when it was started, nanoseconds since 1970
//   bytes 24..47  counts, 32 bits each
//   bytes 48..79  version of the library
//   bytes 80..83  a CUDA error without any other record
//   bytes 84..87  processes with PyTorch or a driver that ended without recording anything
//   bytes 88..91  pid of the process that writes to the output folder itself
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::tally {

inline constexpr char kVariable[] = "AOTI_DBG_TALLY";
inline constexpr std::uint64_t kMagic = 0x31594c5449544f41;  // "AOTITLY1" as little-endian bytes
inline constexpr std::size_t kBytes = 4096;

/// The verdict on a process tree, from the command or, without it, from the started program.
inline constexpr char kNothingSeen[] = "no AOTInductor model was loaded and no kernel launch was intercepted";
inline constexpr char kNoCallSeen[] =
    "an AOTInductor model was loaded, but no call of it and no kernel launch was intercepted";

struct Page {
    std::uint64_t magic;
    std::int32_t start_pid;
    std::uint32_t complained;  // 1: a process has printed the option errors
    std::int64_t start_unix_ns;
    std::uint32_t loaded;     // processes that loaded the library; counts again after exec
    std::uint32_t partaking;  // of these, the ones whose options let them inspect calls (level, processes
                              // main)
    std::uint32_t models;     // loaded models
    std::uint32_t recording;  // processes that saw a call
    std::uint32_t left_out;   // processes that AOTI_DBG_PROCESSES excluded from recording
    std::uint32_t findings;   // all findings, written or not
    char library[32];         // its version, from the process that loaded it; empty: older than this field
    // The first CUresult that destroyed a context in a process without a flight ring. 0 means none.
    std::int32_t cuda_error;
    std::uint32_t idle;         // processes with PyTorch or a driver that ended without recording anything
    std::int32_t folder_owner;  // pid of the process that writes to the output folder itself; 0: none yet
    std::uint32_t reserved;
};
static_assert(sizeof(Page) == 96);

}  // namespace aoti_dbg::tally
