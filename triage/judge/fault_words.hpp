// The access to memory that a fault on a device was, which argument of its kernel it belongs to, and how that
// is said. Distances count bytes; past the end they count from the first byte that is not the argument's, so
// that 0 is the access right behind its last element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aoti_dbg {

struct CrashArgument;
struct DeviceFault;

struct FaultedAccess {
    // What the instruction says.
    std::string what;         // "read", "write", "atomic"
    std::uint32_t bytes = 0;  // of each thread; 0: not known
    std::string memory;       // "shared", "local"; empty: the device's
    struct Thread {
        std::string index;
        std::uint64_t address = 0;
    };
    std::vector<Thread> threads;  // any of them may have met the fault; empty: their registers are gone
    bool is_certain = false;      // the registers are those of the access
    std::string parameters;       // of the launch, as the kernel got them

    // What place_access() makes of it.
    std::optional<std::uint64_t> address;
    enum class Place { unknown, inside, past, before, behind_begin };
    Place place = Place::unknown;
    std::string label;           // of the argument; empty: none is known
    std::uint64_t distance = 0;  // inside and behind_begin: from its beginning
    bool is_far = false;         // from every argument, so that it is none's neighbour
    bool is_likely = false;
};

/// Chooses the thread and the argument, which becomes the only suspect: a suspect by the source line stays
/// one where the address does not know better. An address of 0, or one more than 1 TiB away
/// from the argument, gives no place and no distance. Does nothing where there is no address.
void place_access(DeviceFault& fault, std::vector<CrashArgument>& arguments);

/// "write 512 bytes past the end of buf12", "likely a read from arg0_1"; empty where nothing is known.
std::string access_words(const DeviceFault& fault, const std::vector<CrashArgument>& arguments);

}  // namespace aoti_dbg
