// `aoti-dbg doctor`: whether this machine is ready, check by check, and what to do where it is not.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/doctor/doctor_checks.hpp"

namespace aoti_dbg::cli {

struct DoctorRequest {
    bool fault = false;  // a kernel really faults, and its verdict is checked
    bool json = false;
    std::chrono::milliseconds deadline{30000};  // of each trial
};

/// Returns the exit code: 1 where a check failed, or standard output could not be written.
int doctor(const DoctorRequest& request);

/// A line a check, its advice below, and a line that counts.
std::string doctor_text(const std::vector<Check>& checks);
/// One document (docs/reference/doctor.md).
std::string doctor_json(const std::vector<Check>& checks);

}  // namespace aoti_dbg::cli
