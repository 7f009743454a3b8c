// What `aoti-dbg doctor` makes of facts: for each check a line, ok, warning or failure, and what to do.
// Judges what it is given; must not look at the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/doctor_facts.hpp"

namespace aoti_dbg::cli {

enum class CheckState { ok, warning, failure };

struct Check {
    std::string name;
    CheckState state = CheckState::ok;
    std::string text;
    std::string advice;  // empty only where it is ok
};

Check check_library(const LibraryFacts& facts);
Check check_driver(const DriverFacts& facts);
std::vector<Check> check_gpus(const DriverFacts& facts);
Check check_python(const PythonFacts& facts);
Check check_doors(const DoorFacts& facts);
/// One for each that is there.
std::vector<Check> check_interposers(const InterposerFacts& facts);
Check check_dumps(const DriverFacts& facts);
Check check_output(const OutputFacts& facts);
std::vector<Check> check_limits(const LimitFacts& facts);
/// `complaints`: of parse_options().
std::vector<Check> check_options(const std::vector<std::string>& complaints);
Check check_fault(const FaultFacts& facts, std::string_view kernel);

}  // namespace aoti_dbg::cli
