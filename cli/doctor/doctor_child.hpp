// The other end of the trials of `aoti-dbg doctor`: the same command as a child that touches the driver, and
// says line by line what came of it, "<what> <value>", since it may not live to say it later. The driver is
// looked up and never linked.
#pragma once

#include <string_view>

namespace aoti_dbg::cli {

/// "driver": what it says of itself and its GPUs. "library": whose dlsym it gets. "doors": that, and launches
/// by each road. "fault": a kernel that stores where no memory is. kCountersTrial: what GPUs count of broken
/// memory, for a report. Returns the exit code, 2 for another word.
int doctor_child(std::string_view trial);

// The kernels that it launches, by their names in a flight ring and in a core dump.
inline constexpr char kDlsymKernel[] = "aoti_dbg_doctor_dlsym";
inline constexpr char kEntryPointKernel[] = "aoti_dbg_doctor_entry_point";
inline constexpr char kLinkedKernel[] = "aoti_dbg_doctor_linked";
inline constexpr char kFaultKernel[] = "aoti_dbg_doctor_fault";

// What stands for them in its lines.
inline constexpr char kDlsymDoor[] = "dlsym";
inline constexpr char kEntryPointDoor[] = "cuGetProcAddress";
inline constexpr char kLinkedDoor[] = "linked";

}  // namespace aoti_dbg::cli
