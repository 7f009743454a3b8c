#include "shim/faults/allocations.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "base/errno_keeper.hpp"
#include "serializer/allocation_map.hpp"
#include "shim/calls/current_session.hpp"
#include "shim/calls/file_part.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/faults/seen_devices.hpp"
#include "shim/record/allocation_file.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/driver_api.hpp"

namespace aoti_dbg {
namespace {

using AllocationPart = FilePart<AllocationFile>;

AllocationPart* part_of(const Session* session) {
    return session == nullptr ? nullptr : session->part<AllocationPart>();
}

AllocationFile* file() {
    AllocationPart* const part = part_of(observing() ? current_session() : nullptr);
    return part == nullptr ? nullptr : part->file();
}

/// Does the same, but creates no file.
AllocationFile* present_file() {
    const AllocationPart* const part =
        part_of(observing() ? wiped_page().session.load(std::memory_order_acquire) : nullptr);
    return part == nullptr ? nullptr : part->present();
}

AllocationMoment now() {
    Session* const session = wiped_page().session.load(std::memory_order_acquire);
    const ThreadState* const state = thread_state_if_any();
    const std::uint32_t known = state == nullptr ? 0 : state->progress.tid.load(std::memory_order_relaxed);
    return {ticks(), session == nullptr ? 0 : session->last_seq(),
            known != 0 ? known : static_cast<std::uint32_t>(syscall(SYS_gettid))};
}

struct ContextPlace {
    CUcontext context = nullptr;
    std::int32_t device = allocations::kNoDevice;
};

ContextPlace current_place() {
    ContextPlace place;
    const DriverApi* const api = driver_api();
    CUdevice device = 0;
    if (api == nullptr || api->cuCtxGetCurrent(&place.context) != CUDA_SUCCESS) return place;
    if (place.context != nullptr && api->cuCtxGetDevice(&device) == CUDA_SUCCESS) place.device = device;
    return place;
}

std::int32_t device_of(const AskedMemory& asked, const ContextPlace& place) {
    if (allocations::is_of_host(asked.way)) return allocations::kNoDevice;
    return asked.device == kCurrentDevice ? place.device : asked.device;
}

void ask_how_much_there_is(RefusedAllocation& refused) {
    const DriverApi* const api = driver_api();
    if (api == nullptr) return;
    const RelaxedCapture relaxed(*api);
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    if (api->cuMemGetInfo_v2(&free_bytes, &total) != CUDA_SUCCESS) return;
    refused.free_bytes = free_bytes;
    refused.total_bytes = total;
}

/// This prevents recursion: the work allocates, and a library in between may take that memory from the
/// driver.
__thread bool t_is_at_work __attribute__((tls_model("initial-exec"))) = false;

template <typename Work>
void guarded(Work work) {
    if (t_is_at_work) return;
    t_is_at_work = true;
    const ErrnoKeeper errno_keeper;
    try {
        work();
    } catch (...) {
        switch_off("out of memory while recording an allocation");
    }
    t_is_at_work = false;
}

}  // namespace

void start_allocations(Session& session) {
    if (options().triage && session.ring() != nullptr)
        session.add(
            std::make_unique<AllocationPart>(allocations_path(session.ring()->path()), "allocations"));
}

void note_allocation(const AskedMemory& asked, std::uint64_t address) {
    guarded([&] {
        AllocationFile* const to = file();
        if (to == nullptr) return;
        if (asked.way == allocations::Way::create) return to->satisfy(asked.bytes, now());
        const ContextPlace place = current_place();
        note_device(place.device);
        to->add({address, asked.bytes, reinterpret_cast<std::uintptr_t>(asked.stream),
                 device_of(asked, place), asked.way, place.context},
                now());
    });
}

void note_refused(const AskedMemory& asked) {
    guarded([&] {
        AllocationFile* const to = file();
        if (to == nullptr) return;
        const AllocationMoment when = now();
        const ContextPlace place = current_place();
        RefusedAllocation refused;
        refused.bytes = asked.bytes;
        refused.way = asked.way;
        refused.device = device_of(asked, place);
        if (refused.device != allocations::kNoDevice && refused.device == place.device)
            ask_how_much_there_is(refused);
        to->refuse(refused, when);
    });
}

struct LeavingMemory {
    AllocationFile* from;
    std::vector<AllocationFile::Leaving> pieces;
    allocations::Way way;
    const void* stream;
    AllocationMoment when;  // of the call, because other calls may begin meanwhile
};

LeavingMemory* take_leaving(allocations::Way way, std::uint64_t address, std::uint64_t bytes,
                            const void* stream) {
    std::unique_ptr<LeavingMemory> leaving;
    guarded([&] {
        AllocationFile* const from = address == 0 ? nullptr : present_file();
        if (from == nullptr) return;
        leaving = std::make_unique<LeavingMemory>(LeavingMemory{from, {}, way, stream, now()});
        leaving->pieces = from->take(address, bytes);
        if (leaving->pieces.empty()) leaving.reset();
    });
    return leaving.release();
}

void end_leaving(LeavingMemory* leaving, bool is_freed) {
    const std::unique_ptr<LeavingMemory> owned(leaving);
    guarded([&] {
        if (is_freed) {
            leaving->from->end(leaving->pieces, leaving->way,
                               reinterpret_cast<std::uintptr_t>(leaving->stream), leaving->when);
        } else {
            leaving->from->put_back(leaving->pieces);
        }
    });
}

void note_context_destroyed(const void* context) {
    guarded([&] {
        if (AllocationFile* const known = present_file(); known != nullptr)
            known->end_context(context, now());
    });
}

void note_device_reset(int device) {
    guarded([&] {
        if (AllocationFile* const known = present_file(); known != nullptr) known->end_device(device, now());
    });
}

}  // namespace aoti_dbg
