// The trials of `aoti-dbg doctor`: starts the command once more (doctor_child) with and without the library,
// and reads what that said, what the library recorded, and what a fault's verdict is. Writes to a temporary
// folder only, which goes; none of it lasts longer than was said.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "cli/doctor/doctor_facts.hpp"

namespace aoti_dbg::cli {

/// Without the library.
DriverFacts try_driver(std::chrono::milliseconds deadline);

/// Under the library, with everything else in the environment that is there.
std::pair<LibraryFacts, DoorFacts> try_library(const DriverFacts& driver, std::chrono::milliseconds deadline);

/// As `aoti-dbg run --triage` does it.
FaultFacts try_fault(const DriverFacts& driver, std::chrono::milliseconds deadline);

// What a child has said. Takes any text.
void read_driver(std::string_view said, DriverFacts& facts);
void read_doors(std::string_view said, DoorFacts& facts);
void read_fault(std::string_view said, FaultFacts& facts);

}  // namespace aoti_dbg::cli
