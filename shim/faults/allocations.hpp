// The map of allocations, as the hooks of the driver see it: what memory is made, freed and refused. Done
// with AOTI_DBG_TRIAGE, else a load. Throws nothing and leaves errno as it was; the only question to the
// driver beyond whose context it is comes right after it has refused memory: how much there is.
#pragma once

#include <cstdint>

#include "serializer/allocation_format.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

/// The device of the thread's context.
inline constexpr std::int32_t kCurrentDevice = -2;

struct AskedMemory {
    allocations::Way way;
    std::uint64_t bytes;
    const void* stream = nullptr;  // of what is made in stream order
    std::int32_t device = kCurrentDevice;
};

/// It was made at `address`; 0: nowhere yet.
void note_made(const AskedMemory& asked, std::uint64_t address);
void note_refused(const AskedMemory& asked);

/// A call that makes memory has come back, with where in `address`, which may be null.
template <typename Address>
int made_memory(int result, const AskedMemory& asked, const Address* address) {
    constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
    if (!g_recording_memory) [[likely]]
        return result;
    if (result == 0 && address != nullptr) note_made(asked, std::uint64_t{*address});
    if (result == kOutOfMemory) note_refused(asked);
    return result;
}

/// Memory that is about to be freed, from here to end(). Not to be copied.
class LeavingMemory {
  public:
    /// `bytes`: of mapped memory, whose pieces go together.
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

/// A context is about to go, or all of a device.
void note_context_gone(const void* context);
void note_device_gone(int device);

}  // namespace aoti_dbg
