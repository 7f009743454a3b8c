#include "shim/faults/fault_watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "base/descriptor.hpp"
#include "base/message.hpp"
#include "base/private_folder.hpp"
#include "shim/calls/current_session.hpp"
#include "shim/calls/session.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/faults/dump_request.hpp"
#include "shim/faults/fault_dump.hpp"
#include "shim/faults/fault_part.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

const char* variable(const char* name) {
    return getenv(name);
}

FaultDumpApi fault_dump_api() {
    const DriverApi* const api = driver_api();
    if (api == nullptr) return {};
    return {api->cuCoredumpGetAttributeGlobal, api->cuCoredumpSetAttributeGlobal};
}

/// Avoids an existing file, because the driver overwrites it.
std::string free_path(const std::string& folder) {
    const std::string path = folder + "/gpu.core";
    return access(path.c_str(), F_OK) != 0 ? path : folder + "/gpu-" + std::to_string(getpid()) + ".core";
}

/// Prepares a dump on request, unless hangs are only reported.
void arm_for_hangs(const std::string& folder) {
    if (options().hang == 0 || options().on_hang == OnHang::report) return;
    const std::string pipe = folder + "/gpu-" + std::to_string(getpid()) + ".pipe";
    expect_dump_pipe(pipe, [] { return open_no_more_pipes(fault_dump_api()); });
    if (!arm_dump_on_request(fault_dump_api(), pipe)) forget_dump_pipe();
}

std::atomic<DumpOfFault> g_dump{DumpOfFault::not_asked};

/// Returns how the launch can be identified without a core dump.
const char* fallback_advice(const Session& session) {
    if (session.ring() == nullptr)
        return "No report can identify the launch. Set AOTI_DBG_RING to a value above 0.";
    const char* const blocking = getenv("CUDA_LAUNCH_BLOCKING");
    if (wants_markers(options(), DumpOfFault::none, blocking))
        return "Completion markers identify the launch (AOTI_DBG_COMPLETION).";
    if (is_blocking(blocking))
        return "Launches wait for their kernels, so the launch that fails is the culprit.";
    return "Set CUDA_LAUNCH_BLOCKING=1: the last call in the flight recorder ring is then the culprit.";
}

/// The driver reads this variable itself. It is part of the program's environment, which the library must not
/// change.
void say_if_launches_do_not_wait() {
    if (options().completion != Completion::blocking || !options().records_all()) return;
    if (getenv("CUDA_LAUNCH_BLOCKING") != nullptr) return;
    message(Severity::warn,
            "AOTI_DBG_COMPLETION=blocking has no effect: launches do not wait for their kernels. Set "
            "CUDA_LAUNCH_BLOCKING=1 as well, or start the program with `aoti-dbg run`, which sets it.");
}

void say_why_not(FaultDump result, const std::string& path, const Session& session) {
    switch (result) {
        case FaultDump::armed:
            return;
        case FaultDump::asked_for_already:
            return;  // find_dump_of_others() prints where it goes
        case FaultDump::no_room:
            return message(
                Severity::warn,
                "no GPU core dump: not enough space in %s. Set AOTI_DBG_OUT to a directory with %zu MiB of "
                "free space. %s",
                session.folder().c_str(), Options::kDumpRoom >> 20U, fallback_advice(session));
        case FaultDump::not_known:
            return message(
                Severity::warn,
                "no GPU core dump: the driver does not support the request (CUDA 12.1 and later do). %s",
                fallback_advice(session));
        case FaultDump::path_too_long:
            return message(Severity::warn,
                           "no GPU core dump: the path %s is too long for the driver. Set AOTI_DBG_OUT to a "
                           "shorter path. %s",
                           path.c_str(), fallback_advice(session));
        case FaultDump::refused:
            return message(Severity::warn, "no GPU core dump: the driver refused the request. %s",
                           fallback_advice(session));
    }
}

/// Records the path, so that the report reads the core dump there too.
bool note_place(const std::string& folder, const std::string& path) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    // A file with this process's own number can only be stale.
    const std::string own = folder + "/gpu-" + std::to_string(getpid()) + ".place";
    int file = open((folder + "/gpu.place").c_str(), kFlags | O_EXCL, 0600);
    if (file < 0 && errno == EEXIST) file = open(own.c_str(), kFlags | O_TRUNC, 0600);
    const Descriptor to(file);
    const std::string line = path + "\n";
    return to.number() >= 0 && write_quietly(to.number(), line.data(), line.size());
}

DumpOfFault find_dump_of_others(const Session& session, DumpOfOthers& dump) {
    constexpr const char* kAsked =
        "the program or a CUDA_*COREDUMP* variable already requests a GPU core dump";
    dump = dump_of_others(fault_dump_api(), variable);
    if (!dump.is_enabled) {
        message(Severity::warn,
                "no GPU core dump: a CUDA_*COREDUMP* variable turns it off. Unset that variable. %s",
                fallback_advice(session));
        return DumpOfFault::none;
    }
    const std::string folder = dump.path.substr(0, dump.path.rfind('/') + 1);
    const bool can_be_written = access(folder.c_str(), W_OK | X_OK) == 0;
    if (dump.path.empty() || !can_be_written || !note_place(session.folder(), dump.path)) {
        message(Severity::warn, "%s, but reports cannot read it at that path (%s). %s", kAsked,
                dump.path.empty() ? "no working directory" : dump.path.c_str(), fallback_advice(session));
        return DumpOfFault::lost;
    }
    message(Severity::info, "%s. The driver writes it to %s. Reports read it there and do not remove it.",
            kAsked, dump.path.c_str());
    return DumpOfFault::of_others;
}

/// Watches for the driver's record at `path`, when a fault seems to be in progress and at exit.
void expect_dump(Session& session, const std::string& path) {
    if (FaultPart* const part = session.part<FaultPart>(); part != nullptr) part->expect_dump(path);
    watch_fault_window(path, options().on_fault == OnFault::raise);
    // This runs before the driver's own exit handlers.
    atexit(await_fault_dump);
}

FaultDump arm(const std::string& folder, const std::string& path) {
    const AfterDump after = options().on_fault == OnFault::abort ? AfterDump::abort : AfterDump::go_on;
    const bool is_room_there = has_room(folder, Options::kDumpRoom).ok();
    return arm_fault_dump(fault_dump_api(), path, is_room_there, after, variable);
}

}  // namespace

DumpOfFault dump_of_fault() {
    return g_dump.load(std::memory_order_relaxed);
}

void watch_for_faults() {
    static std::atomic<pid_t> watched{0};
    if (watched.exchange(getpid(), std::memory_order_relaxed) == getpid()) return;
    say_if_launches_do_not_wait();
    if (!options().triage) return;
    Session* const session = current_session();
    if (session == nullptr || session->folder().empty()) return;  // a message was printed
    const std::string path = free_path(session->folder());
    const FaultDump result = arm(session->folder(), path);
    g_counts_launches.store(true, std::memory_order_relaxed);
    say_why_not(result, path, *session);
    if (result == FaultDump::armed) {
        g_dump.store(DumpOfFault::ours, std::memory_order_relaxed);
        expect_dump(*session, path);
        return arm_for_hangs(session->folder());
    }
    DumpOfOthers dump;
    g_dump.store(
        result == FaultDump::asked_for_already ? find_dump_of_others(*session, dump) : DumpOfFault::none,
        std::memory_order_relaxed);
    // A dump of an earlier run proves nothing about this run. A path with a timestamp does not exist yet.
    const bool is_exact = dump.path.find("%t") == std::string::npos;
    if (dump_of_fault() == DumpOfFault::of_others && is_exact && access(dump.path.c_str(), F_OK) != 0)
        expect_dump(*session, dump.path);
}

}  // namespace aoti_dbg
