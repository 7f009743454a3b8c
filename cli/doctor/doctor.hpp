// `aoti-dbg doctor`: checks whether this machine is ready and gives the remedy for each failed check.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/doctor/doctor_checks.hpp"

namespace aoti_dbg::cli {

struct DoctorRequest {
    bool fault = false;  // also cause a real kernel fault and check its verdict
    bool json = false;
    std::chrono::milliseconds deadline{30000};  // per trial
};

/// Returns the exit code: 1 if a check failed or standard output could not be written.
int doctor(const DoctorRequest& request);

/// Prints one line per check, its advice below it, and a line of totals.
std::string doctor_text(const std::vector<Check>& checks);
/// Returns one JSON document (docs/reference/doctor.md).
std::string doctor_json(const std::vector<Check>& checks);

}  // namespace aoti_dbg::cli
