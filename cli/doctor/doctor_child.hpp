// The child process behind the trials of `aoti-dbg doctor`. It uses the driver and prints each result at once
// as a line "<what> <value>", because it may crash or hang later. It must not link the driver; it looks it
// up.
#pragma once

#include <string_view>

namespace aoti_dbg::cli {

/// Runs one trial: "driver" prints the driver's facts and its GPUs, "library" the file whose dlsym it gets.
/// "doors" also launches through each entry point, and "fault" launches a kernel that stores to unmapped
/// memory. kCountersTrial prints the GPUs' memory error counters for a report. Returns the exit code, 2 for
/// an unknown trial.
int doctor_child(std::string_view trial);

// The kernels that it launches, as named in a flight ring and in a core dump.
inline constexpr char kDlsymKernel[] = "aoti_dbg_doctor_dlsym";
inline constexpr char kEntryPointKernel[] = "aoti_dbg_doctor_entry_point";
inline constexpr char kLinkedKernel[] = "aoti_dbg_doctor_linked";
inline constexpr char kFaultKernel[] = "aoti_dbg_doctor_fault";

// The names of the entry points in its output lines.
inline constexpr char kDlsymDoor[] = "dlsym";
inline constexpr char kEntryPointDoor[] = "cuGetProcAddress";
inline constexpr char kLinkedDoor[] = "linked";

}  // namespace aoti_dbg::cli
