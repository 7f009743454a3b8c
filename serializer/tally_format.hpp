// What `aoti-dbg run` wants to know of the processes that it started: a page of shared memory, made by the
// command, named to the library by AOTI_DBG_TALLY (a path below /proc), mapped by each process at its start
// and raised by atomic additions. It survives whatever end a process meets.
//
//   bytes  0..7   magic "AOTITLY1"
//   bytes  8..15  pid of the program that was started (the start); whether options were complained of
//   bytes 16..23  when it was started, nanoseconds since 1970
//   bytes 24..47  counts, 32 bits each
//   bytes 48..79  version of the library
//   bytes 80..83  a CUDA error of which there is no other record
//   bytes 84..87  processes with PyTorch or a driver that ended without recording anything
//   bytes 88..91  pid of the process that writes to the output folder itself
#pragma once

#include <cstddef>
#include <cstdint>

namespace aoti_dbg::tally {

inline constexpr char kVariable[] = "AOTI_DBG_TALLY";
inline constexpr std::uint64_t kMagic = 0x31594c5449544f41;  // "AOTITLY1" as little-endian bytes
inline constexpr std::size_t kBytes = 4096;

/// The verdict on a tree of processes, given by the command or, without it, by the start.
inline constexpr char kNothingSeen[] = "no AOTInductor model was loaded and no kernel launch was intercepted";
inline constexpr char kNoCallSeen[] =
    "an AOTInductor model was loaded, but no call of it and no kernel launch was intercepted";

struct Page {
    std::uint64_t magic;
    std::int32_t start_pid;
    std::uint32_t complained;  // 1: somebody has said what is wrong with the options
    std::int64_t start_unix_ns;
    std::uint32_t loaded;     // processes (and programs they became) that loaded the library
    std::uint32_t partaking;  // of these, those that look at anything, by their level and by processes main
    std::uint32_t models;     // models that arrived
    std::uint32_t recording;  // processes that saw a call
    std::uint32_t left_out;   // processes that would have, but for the patterns of AOTI_DBG_PROCESSES
    std::uint32_t findings;   // that were made, whether or not they could be written
    char library[32];         // its version, by whoever loaded it; empty: older than this field
    // The first CUresult that ended a context in a process without a flight ring; 0: none.
    std::int32_t cuda_error;
    std::uint32_t idle;         // processes with PyTorch or a driver that ended and had recorded nothing
    std::int32_t folder_owner;  // pid of the process that writes to the output folder itself; 0: none yet
    std::uint32_t reserved;
};
static_assert(sizeof(Page) == 96);

}  // namespace aoti_dbg::tally
