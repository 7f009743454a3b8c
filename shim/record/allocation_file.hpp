// Writes the map of allocations (serializer/allocation_format.hpp): one file per process, with a table of
// slots. A live allocation keeps its slot. A freed one keeps it as history until no other slot is free, and
// the oldest is reused first. Nothing here queries the driver. Each function is one short critical section.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "serializer/allocation_format.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

/// The time and thread of an event.
struct AllocationMoment {
    std::uint64_t ticks = 0;
    std::uint64_t sequence = 0;  // of the last call that started
    std::uint32_t thread = 0;
};

struct NewAllocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stream = 0;
    std::int32_t device = allocations::kNoDevice;
    allocations::Way way = allocations::Way::unknown;
    const void* context = nullptr;  // the context that owns the memory; null: unknown
};

struct RefusedAllocation {
    std::uint64_t bytes = 0;
    std::int32_t device = allocations::kNoDevice;
    allocations::Way way = allocations::Way::unknown;
    std::uint64_t free_bytes = 0;
    std::uint64_t total_bytes = 0;
};

/// Enough for 20 MiB pieces that add up to several times the memory of any device (PyTorch maps such pieces).
/// Also enough for several models with one allocation per tensor.
inline constexpr std::size_t kAllocationSlots = 32768;

class AllocationFile {
  public:
    /// Memory that is about to be freed. No other thread finds it meanwhile. Another allocation may get its
    /// address before the freeing call returns.
    struct Leaving {
        std::uint32_t slot;
        std::uint64_t address;
        std::uint64_t bytes;
        const void* context;
    };

    static Result<std::unique_ptr<AllocationFile>> create(const std::string& path,
                                                          std::size_t slots = kAllocationSlots);

    /// The following functions throw if memory runs out, and the file stays readable.
    void add(const NewAllocation& made, const AllocationMoment& when);
    /// Takes the allocation at `address`. For mapped memory, takes everything in the `bytes` bytes from
    /// there.
    std::vector<Leaving> take(std::uint64_t address, std::uint64_t bytes);
    void end(const std::vector<Leaving>& leaving, allocations::Way way, std::uint64_t stream,
             const AllocationMoment& when);
    /// Undoes take() for memory that was not freed.
    void put_back(const std::vector<Leaving>& leaving);
    /// Ends all memory of a context or of a device.
    void end_context(const void* context, const AllocationMoment& when);
    void end_device(std::int32_t device, const AllocationMoment& when);
    void refuse(const RefusedAllocation& refused, const AllocationMoment& when);
    /// Records that the thread has since allocated this many bytes.
    void satisfy(std::uint64_t bytes, const AllocationMoment& when);

  private:
    struct Living {
        std::uint32_t slot;
        std::uint64_t bytes;
        const void* context;
    };
    using Lives = std::map<std::uint64_t, Living>;

    AllocationFile(PreallocatedFile file, char* mapped, std::size_t slots);
    [[nodiscard]] allocations::FileHeader& header() const;
    std::uint32_t free_slot();
    void end_slot(std::uint32_t slot, allocations::Way way, std::uint64_t stream,
                  const AllocationMoment& when);
    void end_overlapping(std::uint64_t address, std::uint64_t bytes, const AllocationMoment& when);
    void satisfy_locked(std::uint64_t bytes, const AllocationMoment& when);
    template <typename Matches>
    void end_all(Matches matches, const AllocationMoment& when);

    PreallocatedFile file_;
    char* mapped_;
    allocations::Failure* failures_;
    allocations::Slot* slots_;
    std::size_t slot_count_;
    std::mutex mutex_;  // guards everything below and the mapped file
    std::size_t used_ = 0;
    Lives lives_;
    std::deque<std::uint32_t> history_;  // slots of freed allocations, oldest first
};

}  // namespace aoti_dbg
