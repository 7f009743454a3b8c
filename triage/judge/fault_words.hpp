// The faulted memory access, the kernel argument it belongs to, and the words for both. Distances are in
// bytes. Past the end they count from the first byte after the argument, so 0 is the access right after its
// last element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aoti_dbg {

struct CrashArgument;
struct DeviceFault;

struct FaultedAccess {
    // Decoded from the instruction.
    std::string what;         // "read", "write", "atomic"
    std::uint32_t bytes = 0;  // per thread; 0: unknown
    std::string memory;       // "shared", "local"; empty: device memory
    struct Thread {
        std::string index;
        std::uint64_t address = 0;
    };
    std::vector<Thread> threads;  // any of them may have faulted; empty: their registers are lost
    bool is_certain = false;      // the registers are unchanged since the access
    std::string parameters;       // kernel parameters of the launch

    // Set by place_access().
    std::optional<std::uint64_t> address;
    enum class Place { unknown, inside, past, before, behind_begin };
    Place place = Place::unknown;
    std::string label;           // of the argument; empty: unknown
    std::uint64_t distance = 0;  // for inside and behind_begin: from its start
    bool is_far = false;         // far from every argument, so none counts as a neighbor
    bool is_likely = false;
};

/// Chooses the thread and the argument, which becomes the only suspect. A suspect from the source line
/// remains unless the address is better evidence. An address of 0, or more than 1 TiB away, gives no place
/// and no distance. Does nothing without an address.
void place_access(DeviceFault& fault, std::vector<CrashArgument>& arguments);

/// Returns "write 512 bytes past the end of buf12" or "likely a read from arg0_1"; empty if unknown.
std::string access_words(const DeviceFault& fault, const std::vector<CrashArgument>& arguments);

}  // namespace aoti_dbg
