// The faulted memory access, the kernel argument it belongs to, and the words for both. Distances are in
// bytes. Past the end they count from the first byte after the argument, so 0 is the access right after its
// last element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

struct PlacedAccess {
    std::string thread;         // the chosen one; empty: unknown, as below
    std::string address;        // accessed by that thread, hexadecimal
    bool is_of_thread = false;  // the address comes from the thread's registers
    enum class Place { unknown, inside, past, before, behind_begin };
    Place place = Place::unknown;
    std::string label;           // of the argument
    std::uint64_t distance = 0;  // for inside and behind_begin: from its start
    bool is_far = false;         // far from every argument, so none counts as a neighbor
    bool is_likely = false;
    std::vector<std::size_t> suspects;  // among the arguments
};

/// Chooses the thread and the argument, which becomes the only suspect. A suspect from the source line
/// remains unless the address is better evidence. An address of 0, or more than 1 TiB away, gives no place
/// and no distance. Without threads the result has only the device's thread and address, and the suspects of
/// the source line.
PlacedAccess place_access(const DeviceFault& fault, const std::vector<CrashArgument>& arguments);

/// As above; a place is only likely if the launch is.
PlacedAccess place_access(const Evidence& evidence);

/// Returns "write 512 bytes past the end of buf12" or "likely a read from arg0_1"; empty if unknown.
std::string access_words(const DeviceFault& fault, const std::vector<CrashArgument>& arguments,
                         const PlacedAccess& access);

/// Returns the memory at the address. The time of a free is dropped where the access may as well be one past
/// the end of live memory: drivers reuse addresses, so the two can look the same.
std::vector<NearMemory> judged_memory(const Evidence& evidence, const PlacedAccess& access);

}  // namespace aoti_dbg
