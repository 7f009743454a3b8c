#include "shim/record/allocation_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "shim/record/mapped_entry.hpp"
#include "shim/runtime/clock.hpp"

namespace aoti_dbg {
namespace {

using allocations::Failure;
using allocations::FileHeader;
using allocations::Way;

constexpr std::uint32_t kNoSlot = ~0U;

void note_moment(FileHeader& header, std::uint64_t now) {
    header.anchor_unix_ns = unix_nanoseconds();
    header.anchor_ticks = now;
}

}  // namespace

AllocationFile::AllocationFile(PreallocatedFile file, char* mapped, std::size_t slots)
    : file_(std::move(file)),
      mapped_(mapped),
      failures_(reinterpret_cast<Failure*>(mapped + allocations::kFailuresOffset)),
      slots_(
          reinterpret_cast<allocations::Slot*>(mapped + allocations::slots_offset(allocations::kFailures))),
      slot_count_(slots) {}

FileHeader& AllocationFile::header() const {
    return *reinterpret_cast<FileHeader*>(mapped_);
}

Result<std::unique_ptr<AllocationFile>> AllocationFile::create(const std::string& path, std::size_t slots) {
    char* mapped = nullptr;
    Result<PreallocatedFile> file = PreallocatedFile::create(
        path,
        whole_pages(allocations::slots_offset(allocations::kFailures) + slots * sizeof(allocations::Slot)),
        mapped);
    if (!file.ok()) return file.status();
    auto& header = *reinterpret_cast<FileHeader*>(mapped);
    header.version = allocations::kVersion;
    header.slot_bytes = sizeof(allocations::Slot);
    header.failure_bytes = sizeof(Failure);
    header.pid = static_cast<std::uint32_t>(getpid());
    header.slots = static_cast<std::uint32_t>(slots);
    header.failures = allocations::kFailures;
    header.start_unix_ns = header.anchor_unix_ns = unix_nanoseconds();
    header.start_ticks = header.anchor_ticks = ticks();
    publish(header.magic, allocations::kMagic);
    return std::unique_ptr<AllocationFile>(new AllocationFile(std::move(file.value()), mapped, slots));
}

void AllocationFile::add(const NewAllocation& made, const AllocationMoment& when) {
    if (made.bytes == 0) return;
    const std::lock_guard lock(mutex_);
    note_moment(header(), when.ticks);
    satisfy_locked(made.bytes, when);
    end_overlapping(made.address, made.bytes, when);
    ++header().made;
    // Insert the node first, because its allocation can fail.
    const auto [place, is_new] = lives_.insert_or_assign(made.address, Living{});
    const std::uint32_t slot = free_slot();
    if (slot == kNoSlot) {
        ++header().lost;
        lives_.erase(place);
        return;
    }
    place->second = {slot, made.bytes, made.context};
    allocations::Slot entry{};
    entry.address = made.address;
    entry.bytes = made.bytes;
    entry.created_ticks = when.ticks;
    entry.created_sequence = when.sequence;
    entry.stream = made.stream;
    entry.thread = when.thread;
    entry.device = made.device;
    entry.allocated_by = made.way;
    write_entry(slots_[slot], entry, header().made);
}

std::vector<AllocationFile::Leaving> AllocationFile::take(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<Leaving> leaving;
    const auto first = lives_.lower_bound(address);
    auto last = first;
    for (; last != lives_.end(); ++last) {
        const std::uint64_t offset = last->first - address;
        if (bytes == 0 ? offset != 0 : offset >= bytes || last->second.bytes > bytes - offset) break;
        leaving.push_back({last->second.slot, last->first, last->second.bytes, last->second.context});
    }
    lives_.erase(first, last);
    return leaving;
}

void AllocationFile::end(const std::vector<Leaving>& leaving, Way way, std::uint64_t stream,
                         const AllocationMoment& when) {
    const std::lock_guard lock(mutex_);
    note_moment(header(), when.ticks);
    for (const Leaving& one : leaving)
        end_slot(one.slot, way, stream, when);
}

void AllocationFile::put_back(const std::vector<Leaving>& leaving) {
    const std::lock_guard lock(mutex_);
    for (const Leaving& one : leaving)
        lives_.try_emplace(one.address, Living{one.slot, one.bytes, one.context});
}

template <typename Matches>
void AllocationFile::end_all(Matches matches, const AllocationMoment& when) {
    const std::lock_guard lock(mutex_);
    note_moment(header(), when.ticks);
    for (auto at = lives_.begin(); at != lives_.end();) {
        if (!matches(at->second)) {
            ++at;
            continue;
        }
        end_slot(at->second.slot, Way::context_destroyed, 0, when);
        at = lives_.erase(at);
    }
}

void AllocationFile::end_context(const void* context, const AllocationMoment& when) {
    end_all([context](const Living& living) { return living.context == context; }, when);
}

void AllocationFile::end_device(std::int32_t device, const AllocationMoment& when) {
    end_all([this, device](const Living& living) { return slots_[living.slot].device == device; }, when);
}

void AllocationFile::refuse(const RefusedAllocation& refused, const AllocationMoment& when) {
    const std::lock_guard lock(mutex_);
    note_moment(header(), when.ticks);
    Failure entry{};
    const std::uint64_t number = ++header().failed;
    entry.bytes = refused.bytes;
    entry.ticks = when.ticks;
    entry.sequence = when.sequence;
    entry.free_bytes = refused.free_bytes;
    entry.total_bytes = refused.total_bytes;
    entry.thread = when.thread;
    entry.device = static_cast<std::int16_t>(refused.device);
    entry.way = refused.way;
    write_entry(failures_[(number - 1) % allocations::kFailures], entry, number);
}

void AllocationFile::satisfy(std::uint64_t bytes, const AllocationMoment& when) {
    const std::lock_guard lock(mutex_);
    satisfy_locked(bytes, when);
}

void AllocationFile::satisfy_locked(std::uint64_t bytes, const AllocationMoment& when) {
    const std::size_t count = std::min<std::uint64_t>(header().failed, allocations::kFailures);
    for (std::size_t i = 0; i < count; ++i) {
        Failure& failure = failures_[i];
        if (failure.thread == when.thread && failure.satisfied_ticks == 0 && failure.bytes <= bytes)
            publish(failure.satisfied_ticks, when.ticks);
    }
}

/// Returns kNoSlot if all slots hold live allocations.
std::uint32_t AllocationFile::free_slot() {
    if (used_ < slot_count_) return static_cast<std::uint32_t>(used_++);
    if (history_.empty()) return kNoSlot;
    const std::uint32_t oldest = history_.front();
    history_.pop_front();
    ++header().forgotten;
    return oldest;
}

void AllocationFile::end_slot(std::uint32_t slot, Way way, std::uint64_t stream,
                              const AllocationMoment& when) {
    history_.push_back(slot);
    allocations::Slot& entry = slots_[slot];
    entry.freed_sequence = when.sequence;
    entry.freed_stream = stream;
    entry.freed_thread = when.thread;
    entry.freed_by = way;
    publish(entry.freed_ticks, when.ticks);
}

/// Ends live allocations in this range. The program freed them in a way that is not hooked.
void AllocationFile::end_overlapping(std::uint64_t address, std::uint64_t bytes,
                                     const AllocationMoment& when) {
    auto at = lives_.upper_bound(address);
    if (at != lives_.begin()) {
        const auto before = std::prev(at);
        if (address - before->first < before->second.bytes) at = before;
    }
    while (at != lives_.end() && (at->first <= address || at->first - address < bytes)) {
        end_slot(at->second.slot, Way::unseen, 0, when);
        at = lives_.erase(at);
    }
}

}  // namespace aoti_dbg
