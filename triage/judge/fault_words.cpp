// See fault_words.hpp.
#include "triage/judge/fault_words.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "serializer/number_text.hpp"
#include "triage/judge/verdict_words.hpp"

namespace aoti_dbg {
namespace {

using Place = PlacedAccess::Place;

// No tensor is larger. Beyond this, the nearest argument is merely the one with the highest address.
constexpr std::uint64_t kFar = std::uint64_t{64} << 30U;
// Beyond this, and at 0, the address is meaningless: it is not that of the access, or the pointer is garbage.
constexpr std::uint64_t kUnknown = std::uint64_t{1} << 40U;
constexpr std::int32_t kMisaligned = 716;

struct Position {
    Place place = Place::unknown;
    std::uint64_t distance = 0;
};

bool has_range(const CrashArgument& argument) {
    return argument.begin != 0 && !argument.is_from_tensor_map;
}

Position position_of(std::uint64_t address, std::uint32_t bytes, const CrashArgument& argument) {
    if (address < argument.begin) return {Place::before, argument.begin - address};
    const std::uint64_t offset = address - argument.begin;
    if (argument.bytes == 0) return {Place::behind_begin, offset};
    if (offset >= argument.bytes) return {Place::past, offset - argument.bytes};
    // Its first byte is inside and its last byte is not.
    if (argument.bytes - offset < bytes) return {Place::past, 0};
    return {Place::inside, offset};
}

bool is_outside(const Position& position) {
    return position.place == Place::past || position.place == Place::before;
}

bool is_outside_of_all(std::uint64_t address, std::uint32_t bytes,
                       const std::vector<CrashArgument>& arguments) {
    return std::all_of(arguments.begin(), arguments.end(), [&](const CrashArgument& argument) {
        return !has_range(argument) || is_outside(position_of(address, bytes, argument));
    });
}

/// Returns the argument that contains `address` or is nearest to it; null if none has known bounds.
const CrashArgument* nearest(std::uint64_t address, std::uint32_t bytes,
                             const std::vector<CrashArgument>& arguments) {
    const CrashArgument* found = nullptr;
    std::uint64_t least = 0;
    for (const CrashArgument& argument : arguments) {
        if (!has_range(argument)) continue;
        const Position position = position_of(address, bytes, argument);
        const std::uint64_t distance = position.place == Place::inside ? 0 : position.distance + 1;
        if (found != nullptr && distance >= least) continue;
        found = &argument;
        least = distance;
    }
    return found;
}

/// Returns the arguments that the faulting line reads or writes.
std::vector<std::size_t> suspects_by_line(const DeviceFault& fault,
                                          const std::vector<CrashArgument>& arguments) {
    std::vector<std::size_t> suspects;
    if (fault.parameter.empty() || !is_memory_fault(fault.error)) return suspects;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (arguments[i].parameter == fault.parameter || arguments[i].label == fault.parameter)
            suspects.push_back(i);
    return suspects;
}

/// Returns the first of the suspects with a known range, or null.
const CrashArgument* ranged(const std::vector<std::size_t>& suspects,
                            const std::vector<CrashArgument>& arguments) {
    const auto found = std::find_if(suspects.begin(), suspects.end(),
                                    [&](std::size_t suspect) { return has_range(arguments[suspect]); });
    return found == suspects.end() ? nullptr : &arguments[*found];
}

/// Returns the first thread with a certainly wrong access, or else the first thread. `by_line` is the
/// argument of the source line, or null; it may have a known end even if others do not.
const FaultedAccess::Thread& thread_of(const DeviceFault& fault, const std::vector<CrashArgument>& arguments,
                                       const CrashArgument* by_line) {
    const FaultedAccess& access = *fault.accessed;
    const auto is_wrong = [&](const FaultedAccess::Thread& thread) {
        if (fault.error == kMisaligned) return access.bytes != 0 && thread.address % access.bytes != 0;
        return access.memory.empty() && is_outside_of_all(thread.address, access.bytes, arguments);
    };
    auto found = std::find_if(access.threads.begin(), access.threads.end(), is_wrong);
    if (found == access.threads.end() && by_line != nullptr && access.memory.empty()) {
        found = std::find_if(access.threads.begin(), access.threads.end(), [&](const auto& thread) {
            return is_outside(position_of(thread.address, access.bytes, *by_line));
        });
    }
    return found == access.threads.end() ? access.threads.front() : *found;
}

/// "read", or "likely a read"
std::string verb(const std::string& what, bool is_likely) {
    std::string word = what == "atomic" ? "atomic update" : what;
    if (!is_likely) return word;
    return (what == "atomic" ? "likely an " : "likely a ") + word;
}

/// Puts the address into or beside an argument, which becomes the only suspect.
void place_at(std::uint64_t address, const DeviceFault& fault, const std::vector<CrashArgument>& arguments,
              const CrashArgument* by_line, PlacedAccess& placed) {
    const FaultedAccess& access = *fault.accessed;
    const bool is_wrong = is_outside_of_all(address, access.bytes, arguments);
    const CrashArgument* const near = nearest(address, access.bytes, arguments);
    if (!access.memory.empty() || fault.error == kMisaligned || near == nullptr) {
        const bool is_odd = fault.error == kMisaligned && access.bytes != 0 && address % access.bytes != 0;
        placed.is_likely |= access.threads.size() > 1 && !is_odd;
        return;
    }
    placed.is_far = address != 0 && is_wrong && position_of(address, access.bytes, *near).distance > kFar;
    if (by_line == nullptr && placed.is_far) return;
    const CrashArgument& chosen = by_line == nullptr ? *near : *by_line;
    const Position position = position_of(address, access.bytes, chosen);
    if (address == 0 || (position.place != Place::inside && position.distance > kUnknown)) {
        placed.is_likely |= by_line != nullptr;
        return;
    }
    placed.place = position.place;
    placed.distance = position.distance;
    placed.label = chosen.label;
    placed.suspects = {static_cast<std::size_t>(&chosen - arguments.data())};
    const bool is_only = position.place == Place::inside && by_line == nullptr;
    placed.is_likely |= !(near == by_line || is_only) || placed.is_far || chosen.bytes == 0;
    // If the argument's end is unknown, other threads' accesses to it may be the faulting ones.
    const auto could_be = [&](const FaultedAccess::Thread& other) {
        return position_of(other.address, access.bytes, chosen).place == position.place;
    };
    placed.is_likely |= !is_wrong && !std::all_of(access.threads.begin(), access.threads.end(), could_be);
}

/// True if an access to freed memory is distinguishable from one past the end of live memory.
bool may_be_of_freed(const Evidence& evidence, const PlacedAccess& access) {
    if (evidence.faulted && evidence.faulted->is_likely) return false;
    if (!evidence.device || !evidence.device->accessed) return true;
    if (access.place == Place::inside) return true;  // the address identifies the argument, too
    return !access.is_likely && access.place != Place::past && access.place != Place::before;
}

}  // namespace

PlacedAccess place_access(const DeviceFault& fault, const std::vector<CrashArgument>& arguments) {
    PlacedAccess placed;
    placed.thread = fault.thread;
    placed.address = fault.address;
    placed.suspects = suspects_by_line(fault, arguments);
    if (!fault.accessed || fault.accessed->threads.empty()) return placed;
    const CrashArgument* const by_line = ranged(placed.suspects, arguments);
    const FaultedAccess::Thread& thread = thread_of(fault, arguments, by_line);
    placed.thread = thread.index;
    placed.address = hex_text(thread.address);
    placed.is_of_thread = true;
    placed.is_likely = !fault.accessed->is_certain;
    place_at(thread.address, fault, arguments, by_line, placed);
    return placed;
}

PlacedAccess place_access(const Evidence& evidence) {
    if (!evidence.device) return {};
    PlacedAccess placed = place_access(*evidence.device, evidence.arguments);
    placed.is_likely |= !placed.label.empty() && evidence.faulted && evidence.faulted->is_likely;
    return placed;
}

std::vector<NearMemory> judged_memory(const Evidence& evidence, const PlacedAccess& access) {
    std::vector<NearMemory> memory = evidence.allocations;
    if (!may_be_of_freed(evidence, access))
        for (NearMemory& near : memory)
            near.freed_before_ns.reset();
    return memory;
}

std::string access_words(const DeviceFault& fault, const std::vector<CrashArgument>& arguments,
                         const PlacedAccess& access) {
    const FaultedAccess known = fault.accessed.value_or(FaultedAccess{});
    const std::string what = known.what.empty() ? fault.is_write ? "write" : "read" : known.what;
    const std::string preposition = what == "read" ? " from " : what == "write" ? " to " : " of ";
    const bool is_misaligned = fault.error == kMisaligned && access.is_of_thread;
    if (access.place == Place::unknown && !access.suspects.empty() && !is_misaligned)
        return verb(what, true) + preposition + clean_text(arguments[access.suspects.front()].label);
    if (access.place == Place::unknown) {
        if (known.what.empty()) return {};
        std::string words = verb(what, access.is_of_thread && access.is_likely);
        if (known.bytes != 0) words += " of " + counted(known.bytes, "byte");
        if (!known.memory.empty()) words += " in " + known.memory + " memory";
        if (access.is_of_thread) words += " at " + access.address;
        if (access.is_far) words += ", far from every argument";
        return words;
    }
    const std::string begin = verb(what, access.is_likely);
    const std::string label = clean_text(access.label);
    switch (access.place) {
        case Place::past:
            if (access.distance == 0) return begin + " just past the end of " + label;
            return begin + " " + memory_text(access.distance) + " past the end of " + label;
        case Place::before:
            return begin + " " + memory_text(access.distance) + " before the start of " + label;
        case Place::inside:
            return begin + preposition + label + " at " + access.address + " (" +
                   memory_text(access.distance) + " after its start)";
        case Place::behind_begin:
        case Place::unknown:
            break;
    }
    return begin + preposition + label + ", " + memory_text(access.distance) + " after its start";
}

}  // namespace aoti_dbg
