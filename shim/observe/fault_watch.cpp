#include "shim/observe/fault_watch.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "base/message.hpp"
#include "shim/bind/driver_table.hpp"
#include "shim/observe/fault_window.hpp"
#include "shim/observe/launch_count.hpp"
#include "shim/observe/process.hpp"
#include "shim/observe/session.hpp"
#include "shim/report/fault_dump.hpp"

namespace aoti_dbg {
namespace {

const char* variable(const char* name) {
    return getenv(name);
}

FaultDumpApi fault_dump_api() {
    const auto find = [](const char* name) {
        return reinterpret_cast<FaultDumpApi::Function>(other_driver_function(name));
    };
    return {find("cuCoredumpGetAttributeGlobal"), find("cuCoredumpSetAttributeGlobal")};
}

/// The driver overwrites what is there.
std::string free_path(const std::string& folder) {
    const std::string path = folder + "/gpu.core";
    return access(path.c_str(), F_OK) != 0 ? path : folder + "/gpu-" + std::to_string(getpid()) + ".core";
}

void say_why_not(FaultDump result, const std::string& path) {
    switch (result) {
        case FaultDump::armed:
            return;
        case FaultDump::asked_for_already:
            return message(Severity::info,
                           "the driver's core dump of a fault is asked for already, by the program or by a "
                           "variable CUDA_*COREDUMP*; it goes where that says");
        case FaultDump::not_known:
            return message(Severity::warn,
                           "this driver cannot be asked for a core dump of a fault (12.1 and newer can); set "
                           "CUDA_LAUNCH_BLOCKING=1, and the last call in the flight ring is the one");
        case FaultDump::path_too_long:
            return message(Severity::warn,
                           "%s is too long a name for the driver's core dump of a fault; set AOTI_DBG_OUT to "
                           "a shorter one",
                           path.c_str());
        case FaultDump::refused:
            return message(Severity::warn,
                           "the driver refused to write a core dump of a fault; set CUDA_LAUNCH_BLOCKING=1, "
                           "and the last call in the flight ring is the one");
    }
}

}  // namespace

void watch_for_faults() {
    static std::atomic<pid_t> watched{0};
    if (!options().triage || watched.exchange(getpid(), std::memory_order_relaxed) == getpid()) return;
    Session* const session = current_session();
    if (session == nullptr || session->folder().empty()) return;  // which was said
    const std::string path = free_path(session->folder());
    const AfterDump after = options().on_fault == OnFault::abort ? AfterDump::abort : AfterDump::go_on;
    const FaultDump result = arm_fault_dump(fault_dump_api(), path, after, variable);
    g_counts_launches.store(true, std::memory_order_relaxed);
    say_why_not(result, path);
    if (result != FaultDump::armed) return;
    session->expect_fault_dump(path);
    watch_fault_window(path, options().on_fault == OnFault::raise);
    // Before what the driver has left to be done at exit.
    atexit(let_fault_settle);
}

}  // namespace aoti_dbg
