// The trials of `aoti-dbg doctor`: start the command again (doctor_child) with and without the library. They
// read the child's output, the library's recording and a fault's verdict. They write only to a temporary
// directory, which they remove, and respect the deadline.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "cli/doctor/doctor_facts.hpp"

namespace aoti_dbg::cli {

/// Runs without the library.
DriverFacts try_driver(std::chrono::milliseconds deadline);

/// Runs under the library, with the rest of the environment unchanged.
std::pair<LibraryFacts, DoorFacts> try_library(const DriverFacts& driver, std::chrono::milliseconds deadline);

/// Runs as `aoti-dbg run --triage` does.
FaultFacts try_fault(const DriverFacts& driver, std::chrono::milliseconds deadline);

// These parse a child's output and accept any text.
void read_driver(std::string_view answers, DriverFacts& facts);
void read_doors(std::string_view answers, DoorFacts& facts);
void read_fault(std::string_view answers, FaultFacts& facts);

}  // namespace aoti_dbg::cli
