// See memory_words.hpp.
#include "triage/judge/memory_words.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/words.hpp"

namespace aoti_dbg {
namespace {

using allocations::Way;

struct WayWord {
    Way way;
    std::string_view word;
};

constexpr WayWord kWords[] = {
    {Way::alloc, "cuMemAlloc"},
    {Way::alloc_pitch, "cuMemAllocPitch"},
    {Way::alloc_managed, "cuMemAllocManaged"},
    {Way::alloc_async, "cuMemAllocAsync"},
    {Way::alloc_from_pool, "cuMemAllocFromPoolAsync"},
    {Way::map, "cuMemMap"},
    {Way::create, "cuMemCreate"},
    {Way::alloc_host, "cuMemHostAlloc"},
    {Way::register_host, "cuMemHostRegister"},
    {Way::open_ipc, "cuIpcOpenMemHandle"},
    {Way::free, "cuMemFree"},
    {Way::free_async, "cuMemFreeAsync"},
    {Way::unmap, "cuMemUnmap"},
    {Way::free_host, "cuMemFreeHost"},
    {Way::unregister_host, "cuMemHostUnregister"},
    {Way::close_ipc, "cuIpcCloseMemHandle"},
    {Way::context_destroyed, "the end of its context"},
    {Way::unseen, "a call that was not seen"},
};

/// PyTorch's caching allocator takes segments in multiples of this, and they hold several tensors.
constexpr std::uint64_t kSegmentUnit = std::uint64_t{2} << 20U;

bool may_be_segment(const NearMemory& near) {
    return near.known_tensors == 0 && near.bytes % kSegmentUnit == 0 &&
           !allocations::is_of_host(near.allocated_by) && !allocations::is_in_stream_order(near.allocated_by);
}

std::string duration_text(std::uint64_t nanoseconds) {
    char text[32];
    const auto number = static_cast<double>(nanoseconds);
    if (nanoseconds < 1'000'000) {
        std::snprintf(text, sizeof text, "%.0f us", number / 1e3);
    } else if (nanoseconds < 1'000'000'000) {
        std::snprintf(text, sizeof text, "%.0f ms", number / 1e6);
    } else {
        std::snprintf(text, sizeof text, "%.1f s", number / 1e9);
    }
    return text;
}

std::string on_device(std::int32_t device) {
    return device == allocations::kNoDevice ? "" : " on " + device_name(device);
}

/// "an allocation of 2 MiB on cuda:0 (cuMemAlloc)"
std::string whole_text(const NearMemory& near) {
    const std::string by = on_device(near.device) + " (" + std::string(word_of(near.allocated_by)) + ")";
    if (near.pieces > 1)
        return std::to_string(near.pieces) + " adjacent mappings, " + memory_text(near.bytes) + by;
    return (allocations::is_of_host(near.allocated_by) ? "host memory of " : "an allocation of ") +
           memory_text(near.bytes) + by;
}

std::string gone_text(const NearMemory& near) {
    return near.freed_by == Way::unknown ? ""
                                         : ", which was freed (" + std::string(word_of(near.freed_by)) + ")";
}

std::string_view freed_words(const NearMemory& near) {
    return allocations::is_in_stream_order(near.freed_by) ? "freed in stream order" : "freed";
}

/// "freed 3 ms before the launch (2 MiB on cuda:0 by cuMemFree, 4 KiB after its start): use after free"
std::string freed_place_text(const NearMemory& near) {
    const std::string words(freed_words(near));
    const std::string what = " (" + memory_text(near.bytes) + on_device(near.device) + " by " +
                             std::string(word_of(near.freed_by)) + ", " + memory_text(near.distance) +
                             " after its start)";
    if (!near.is_use_after_free()) return words + " before or after the launch" + what;
    return words + " " + duration_text(*near.freed_before_ns) + " before the launch" + what +
           ": use after free";
}

/// "created in run 3", "input of run 3"
std::string origin_text(const NearTensor& near) {
    const std::string run = "run " + std::to_string(near.run);
    switch (near.origin) {
        case tensors::Origin::input:
            return "input of " + run;
        case tensors::Origin::returned:
            return "returned by an op in " + run;
        case tensors::Origin::made:
        case tensors::Origin::unknown:
            break;
    }
    return "created in " + run;
}

}  // namespace

std::string_view word_of(Way way) {
    const auto* const found =
        std::find_if(std::begin(kWords), std::end(kWords), [way](const WayWord& w) { return w.way == way; });
    return found == std::end(kWords) ? std::string_view("unknown") : found->word;
}

std::string_view word_of(NearMemory::Place place) {
    constexpr std::string_view kPlaces[] = {"inside", "freed_later", "freed", "behind", "before", "nowhere"};
    return kPlaces[static_cast<std::size_t>(place)];
}

std::string_view word_of(NearTensor::Place place) {
    constexpr std::string_view kPlaces[] = {"inside", "behind", "before"};
    return kPlaces[static_cast<std::size_t>(place)];
}

std::string freed_text(const NearMemory& near) {
    return memory_text(near.bytes) + on_device(near.device) + ", " + std::string(freed_words(near)) + " by " +
           std::string(word_of(near.freed_by)) +
           (near.freed_before_ns ? " " + duration_text(*near.freed_before_ns) + " before the launch" : "");
}

std::string near_text(const NearMemory& near) {
    using Near = NearMemory::Place;
    switch (near.place) {
        case Near::inside:
            return memory_text(near.distance) + " into " + whole_text(near) +
                   (may_be_segment(near) ? ", possibly a segment of several tensors" : "") +
                   (near.known_tensors > 1 ? ", a segment of several tensors" : "");
        case Near::freed_later:
            return memory_text(near.distance) + " into " + whole_text(near) + ", which was " +
                   std::string(freed_words(near)) + " after that launch (" +
                   std::string(word_of(near.freed_by)) + ")";
        case Near::freed:
            return "in memory " + freed_place_text(near);
        case Near::behind:
            return (near.distance == 0 ? "just past the end of "
                                       : memory_text(near.distance) + " past the end of ") +
                   whole_text(near) + gone_text(near);
        case Near::before:
            return memory_text(near.distance) + " before " + whole_text(near) + gone_text(near);
        case Near::nowhere:
            break;
    }
    return "in no known allocation, and none is within " + memory_text(kNearBytes);
}

std::string near_text(const NearTensor& near) {
    const std::string distance = memory_text(near.distance);
    std::string text = distance + " into ";
    if (near.place == NearTensor::Place::before) text = distance + " before ";
    if (near.place == NearTensor::Place::behind)
        text = near.distance == 0 ? "just past the end of " : distance + " past the end of ";
    text += (near.name.empty() ? "a tensor" : near.name) + " (" + memory_text(near.bytes) + ", " +
            origin_text(near);
    if (near.was_freed) text += ", already freed";
    if (near.end == tensors::End::outlived) text += ", kept after the run";
    return text + ")";
}

std::string shortage_text(const Shortage& shortage) {
    std::string text = memory_text(shortage.bytes) + " requested" + on_device(shortage.device);
    if (shortage.total_bytes != 0)
        text +=
            " (" + memory_text(shortage.free_bytes) + " of " + memory_text(shortage.total_bytes) + " free)";
    return text;
}

}  // namespace aoti_dbg
