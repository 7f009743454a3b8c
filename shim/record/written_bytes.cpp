#include "shim/record/written_bytes.hpp"

#include <unistd.h>

#include <atomic>

namespace aoti_dbg {
namespace {

std::atomic<pid_t> g_counted_by{0};
std::atomic<std::int64_t> g_bytes{0};

/// A forked child inherits the parent's count, so it starts at zero.
void begin_where_forked() {
    const pid_t here = getpid();
    if (g_counted_by.load(std::memory_order_relaxed) == here) return;
    g_bytes.store(0, std::memory_order_relaxed);
    g_counted_by.store(here, std::memory_order_relaxed);
}

}  // namespace

void count_written_bytes(std::int64_t bytes) {
    begin_where_forked();
    g_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

std::uint64_t written_bytes() {
    begin_where_forked();
    const std::int64_t bytes = g_bytes.load(std::memory_order_relaxed);
    return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
}

}  // namespace aoti_dbg
