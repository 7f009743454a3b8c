// Writes the map of allocations (serializer/allocation_format.hpp): one file a process, a table of slots.
// What lives keeps its slot; what was freed keeps it as history until no other is left, the oldest goes
// first. Nothing here asks the driver. Each function is one short critical section.
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

/// When, and in which thread.
struct AllocationMoment {
    std::uint64_t ticks = 0;
    std::uint64_t sequence = 0;  // of the last call that has begun
    std::uint32_t thread = 0;
};

struct NewAllocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stream = 0;
    std::int32_t device = allocations::kNoDevice;
    allocations::Way way = allocations::Way::unknown;
    const void* context = nullptr;  // with which it goes; nullptr: not known
};

struct RefusedAllocation {
    std::uint64_t bytes = 0;
    std::int32_t device = allocations::kNoDevice;
    allocations::Way way = allocations::Way::unknown;
    std::uint64_t free_bytes = 0;
    std::uint64_t total_bytes = 0;
};

/// As many as the pieces of 20 MiB that PyTorch maps of several times the memory of any device, and the
/// tensors of several models where each is an allocation.
inline constexpr std::size_t kAllocationSlots = 32768;

class AllocationFile {
  public:
    /// Memory that is about to be freed: nobody else finds it meanwhile, and its address may be another's
    /// before the call that frees it has come back.
    struct Leaving {
        std::uint32_t slot;
        std::uint64_t address;
        std::uint64_t bytes;
        const void* context;
    };

    static Result<std::unique_ptr<AllocationFile>> create(const std::string& path,
                                                          std::size_t slots = kAllocationSlots);

    /// What follows throws without memory of its own; the file stays readable.
    void add(const NewAllocation& made, const AllocationMoment& when);
    /// What begins at `address`; of mapped memory all that lies in so many bytes from there.
    std::vector<Leaving> take(std::uint64_t address, std::uint64_t bytes);
    void end(const std::vector<Leaving>& leaving, allocations::Way way, std::uint64_t stream,
             const AllocationMoment& when);
    /// They stay after all.
    void put_back(const std::vector<Leaving>& leaving);
    /// All memory of a context goes, or of a device.
    void end_context(const void* context, const AllocationMoment& when);
    void end_device(std::int32_t device, const AllocationMoment& when);
    void refuse(const RefusedAllocation& refused, const AllocationMoment& when);
    /// The thread has got so many bytes.
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
    template <typename IsRequested>
    void end_all(IsRequested is_requested, const AllocationMoment& when);

    PreallocatedFile file_;
    char* mapped_;
    allocations::Failure* failures_;
    allocations::Slot* slots_;
    std::size_t slot_count_;
    std::mutex mutex_;  // of everything below and what is mapped
    std::size_t used_ = 0;
    Lives lives_;
    std::deque<std::uint32_t> history_;  // slots of what was freed, the oldest first
};

}  // namespace aoti_dbg
