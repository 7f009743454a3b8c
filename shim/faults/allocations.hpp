// Maintains the allocation map from the driver hooks: memory that is allocated, freed and refused. It is
// active with AOTI_DBG_TRIAGE and otherwise costs one load. It must not throw or change errno. It queries the
// driver only for the current context, and right after a refusal for the amount of memory.
#pragma once

#include <cstdint>

#include "serializer/allocation_format.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

class Session;

/// Gives the session a map of allocations next to the ring, if the options request it.
void start_allocations(Session& session);

/// The device of the thread's context.
inline constexpr std::int32_t kCurrentDevice = -2;

struct AskedMemory {
    allocations::Way way;
    std::uint64_t bytes;
    const void* stream = nullptr;  // for a stream-ordered allocation
    std::int32_t device = kCurrentDevice;
};

/// Records an allocation at `address`, or 0 if it has no address yet.
void note_made(const AskedMemory& asked, std::uint64_t address);
/// Records the refusal if `result`, that of a failed call, means that memory ran out.
void note_refused(int result, const AskedMemory& asked);

/// Records the result of a call that allocates memory. `address` points to the new address and may be null.
template <typename Address>
int made_memory(int result, const AskedMemory& asked, const Address* address) {
    if (!g_recording_memory) [[likely]]
        return result;
    if (result == 0 && address != nullptr) note_made(asked, std::uint64_t{*address});
    if (result != 0) note_refused(result, asked);
    return result;
}

/// Memory that is being freed, from the constructor to end(). It must not be copied.
class LeavingMemory {
  public:
    /// `bytes` is the size of mapped memory, whose pieces are freed together.
    LeavingMemory(allocations::Way way, std::uint64_t address, std::uint64_t bytes = 0,
                  const void* stream = nullptr) {
        if (g_recording_memory) [[unlikely]]
            begin(way, address, bytes, stream);
    }
    ~LeavingMemory() = default;
    LeavingMemory(const LeavingMemory&) = delete;
    LeavingMemory& operator=(const LeavingMemory&) = delete;

    template <typename Result>
    Result end(Result result) {
        if (taken_ != nullptr) [[unlikely]]
            finish(result == Result{});
        return result;
    }

  private:
    struct Taken;
    void begin(allocations::Way way, std::uint64_t address, std::uint64_t bytes, const void* stream);
    void finish(bool is_freed);

    Taken* taken_ = nullptr;
};

/// Call these before a context, or everything on a device, is destroyed.
void note_context_gone(const void* context);
void note_device_gone(int device);

}  // namespace aoti_dbg
