// See fault_words.hpp.
#include "triage/judge/fault_words.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {
namespace {

using Place = FaultedAccess::Place;

// No tensor is larger. Beyond this, the nearest argument is merely the one with the highest address.
constexpr std::uint64_t kFar = std::uint64_t{64} << 30U;
// Beyond this, and at 0, the address is meaningless: it is not that of the access, or the pointer is garbage.
constexpr std::uint64_t kUnknown = std::uint64_t{1} << 40U;
constexpr std::int32_t kMisaligned = 716;

std::string hexadecimal(std::uint64_t number) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%" PRIx64, number);
    return text.data();
}

struct Position {
    Place place = Place::unknown;
    std::uint64_t distance = 0;
};

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
        return argument.begin == 0 || is_outside(position_of(address, bytes, argument));
    });
}

/// Returns the argument that contains `address` or is nearest to it; null if none has known bounds.
const CrashArgument* nearest(std::uint64_t address, std::uint32_t bytes,
                             const std::vector<CrashArgument>& arguments) {
    const CrashArgument* found = nullptr;
    std::uint64_t least = 0;
    for (const CrashArgument& argument : arguments) {
        if (argument.begin == 0) continue;
        const Position position = position_of(address, bytes, argument);
        const std::uint64_t distance = position.place == Place::inside ? 0 : position.distance + 1;
        if (found != nullptr && distance >= least) continue;
        found = &argument;
        least = distance;
    }
    return found;
}

/// Returns the first thread with a certainly wrong access, or else the first thread.
const FaultedAccess::Thread& thread_of(const DeviceFault& fault,
                                       const std::vector<CrashArgument>& arguments) {
    const FaultedAccess& access = *fault.accessed;
    const auto is_wrong = [&](const FaultedAccess::Thread& thread) {
        if (fault.error == kMisaligned) return access.bytes != 0 && thread.address % access.bytes != 0;
        return access.memory.empty() && is_outside_of_all(thread.address, access.bytes, arguments);
    };
    auto found = std::find_if(access.threads.begin(), access.threads.end(), is_wrong);
    // The argument of the source line may have a known end even if others do not.
    const auto by_line = std::find_if(arguments.begin(), arguments.end(), [](const CrashArgument& argument) {
        return argument.is_suspect && argument.begin != 0;
    });
    if (found == access.threads.end() && by_line != arguments.end() && access.memory.empty()) {
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

}  // namespace

void place_access(DeviceFault& fault, std::vector<CrashArgument>& arguments) {
    if (!fault.accessed || fault.accessed->threads.empty()) return;
    FaultedAccess& access = *fault.accessed;
    const FaultedAccess::Thread& thread = thread_of(fault, arguments);
    const std::uint64_t address = thread.address;
    access.address = address;
    fault.address = hexadecimal(address);
    fault.thread = thread.index;
    const bool is_wrong = is_outside_of_all(address, access.bytes, arguments);
    const CrashArgument* const near = nearest(address, access.bytes, arguments);
    access.is_likely = !access.is_certain;
    if (!access.memory.empty() || fault.error == kMisaligned || near == nullptr) {
        const bool is_odd = fault.error == kMisaligned && access.bytes != 0 && address % access.bytes != 0;
        access.is_likely |= access.threads.size() > 1 && !is_odd;
        return;
    }
    const auto by_line = std::find_if(arguments.begin(), arguments.end(), [](const CrashArgument& argument) {
        return argument.is_suspect && argument.begin != 0;
    });
    access.is_far = address != 0 && is_wrong && position_of(address, access.bytes, *near).distance > kFar;
    if (by_line == arguments.end() && access.is_far) return;
    const CrashArgument& chosen = by_line == arguments.end() ? *near : *by_line;
    const Position position = position_of(address, access.bytes, chosen);
    if (address == 0 || (position.place != Place::inside && position.distance > kUnknown)) {
        access.is_likely |= by_line != arguments.end();
        return;
    }
    access.place = position.place;
    access.distance = position.distance;
    access.label = chosen.label;
    const bool agrees = by_line != arguments.end() && near == &*by_line;
    const bool is_only = position.place == Place::inside && by_line == arguments.end();
    access.is_likely |= !(agrees || is_only) || access.is_far || chosen.bytes == 0;
    // If the argument's end is unknown, other threads' accesses to it may be the faulting ones.
    const auto could_be = [&](const FaultedAccess::Thread& other) {
        return position_of(other.address, access.bytes, chosen).place == position.place;
    };
    access.is_likely |= !is_wrong && !std::all_of(access.threads.begin(), access.threads.end(), could_be);
    for (CrashArgument& argument : arguments)
        argument.is_suspect = &argument == &chosen;
}

std::string access_words(const DeviceFault& fault, const std::vector<CrashArgument>& arguments) {
    const FaultedAccess known = fault.accessed.value_or(FaultedAccess{});
    const std::string what = known.what.empty() ? fault.is_write ? "write" : "read" : known.what;
    const auto suspect = std::find_if(arguments.begin(), arguments.end(),
                                      [](const CrashArgument& argument) { return argument.is_suspect; });
    const bool has_suspect = suspect != arguments.end();
    const std::string preposition = what == "read" ? " from " : what == "write" ? " to " : " of ";
    const bool is_misaligned = fault.error == kMisaligned && known.address;
    if (known.place == Place::unknown && has_suspect && !is_misaligned) {
        std::string label;
        append_clean(suspect->label, label);
        return verb(what, true) + preposition + label;
    }
    if (known.place == Place::unknown) {
        if (known.what.empty()) return {};
        std::string words = verb(what, known.address && known.is_likely);
        if (known.bytes != 0) words += " of " + counted(known.bytes, "byte");
        if (!known.memory.empty()) words += " in " + known.memory + " memory";
        if (known.address) words += " at " + hexadecimal(*known.address);
        if (known.is_far) words += ", far from every argument";
        return words;
    }
    const std::string begin = verb(what, known.is_likely);
    std::string label;
    append_clean(known.label, label);
    switch (known.place) {
        case Place::past:
            if (known.distance == 0) return begin + " just past the end of " + label;
            return begin + " " + memory_text(known.distance) + " past the end of " + label;
        case Place::before:
            return begin + " " + memory_text(known.distance) + " before the start of " + label;
        case Place::inside:
            return begin + preposition + label + " at " + hexadecimal(*known.address) + " (" +
                   memory_text(known.distance) + " after its start)";
        case Place::behind_begin:
        case Place::unknown:
            break;
    }
    return begin + preposition + label + ", " + memory_text(known.distance) + " after its start";
}

}  // namespace aoti_dbg
