// The driver's own record of a GPU fault: an exception core dump with the kernel, block, thread and
// instruction. It must be requested right after cuInit. Earlier, the driver crashes. Once a context exists,
// the driver returns success but writes nothing. This code must not use other driver functions than those it
// receives.
#pragma once

#include <string>

#include "shim/runtime/driver_api.hpp"

namespace aoti_dbg {

/// cuCoredumpGetAttributeGlobal and cuCoredumpSetAttributeGlobal. They are null if the driver lacks them
/// (before 12.1).
struct FaultDumpApi {
    decltype(&::cuCoredumpGetAttributeGlobal) get = nullptr;
    decltype(&::cuCoredumpSetAttributeGlobal) set = nullptr;
};

enum class FaultDump {
    armed,
    asked_for_already,  // by the program or the driver's environment variables
    not_known,          // this driver does not support it
    path_too_long,
    no_room,
    refused,
};

enum class AfterDump { go_on, abort };

/// Call this after a successful cuInit, before a context exists. A fault then writes `path`, and the program
/// either continues and gets its error, or is aborted. An existing request stays unchanged, wherever its dump
/// goes. `has_room` refers to `path`.
FaultDump arm_fault_dump(const FaultDumpApi& api, const std::string& path, bool has_room, AfterDump after,
                         const char* (*variable)(const char* name));

/// A core dump request that the library did not make.
struct DumpOfOthers {
    bool is_enabled = false;
    // An absolute path, with `%t` for the time of the fault. It is empty if unknown.
    std::string path;
};

/// Call this after FaultDump::asked_for_already.
DumpOfOthers dump_of_others(const FaultDumpApi& api, const char* (*variable)(const char* name));

/// In addition, a write to `pipe`, which the driver creates, produces such a record without a fault. Returns
/// false if the driver refuses.
bool arm_dump_on_request(const FaultDumpApi& api, const std::string& pipe);
/// Later contexts open no pipe. A write to the pipe of an earlier context covers them too.
bool open_no_more_pipes(const FaultDumpApi& api);

}  // namespace aoti_dbg
