// The checks of `aoti-dbg doctor`: each turns facts into ok, a warning or a failure, with a remedy. They
// judge only the facts that they get and must not read the machine.
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
    std::string advice;  // empty only if the state is ok
};

Check check_library(const LibraryFacts& facts);
Check check_driver(const DriverFacts& facts);
std::vector<Check> check_gpus(const DriverFacts& facts);
Check check_python(const PythonFacts& facts);
Check check_doors(const DoorFacts& facts);
/// Returns one check per interposer that is present.
std::vector<Check> check_interposers(const InterposerFacts& facts);
Check check_dumps(const DriverFacts& facts);
Check check_output(const OutputFacts& facts);
std::vector<Check> check_limits(const LimitFacts& facts);
/// `complaints` comes from parse_options().
std::vector<Check> check_options(const std::vector<std::string>& complaints);
Check check_fault(const FaultFacts& facts, std::string_view kernel);

}  // namespace aoti_dbg::cli
