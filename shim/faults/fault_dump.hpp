// The driver's own record of a fault on the GPU: an exception core dump, which names kernel, block, thread
// and instruction. It is asked for right after cuInit, the one moment at which the driver takes it: earlier
// it crashes, and with a context there it answers success and writes nothing. Knows no driver but the
// functions that it is given.
#pragma once

#include <cstddef>
#include <string>

namespace aoti_dbg {

/// cuCoredumpGetAttributeGlobal and cuCoredumpSetAttributeGlobal; null where the driver has none (before
/// 12.1).
struct FaultDumpApi {
    using Function = int (*)(int what, void* value, std::size_t* bytes);
    Function get = nullptr;
    Function set = nullptr;
};

enum class FaultDump {
    armed,
    asked_for_already,  // by the program, or by whoever has set the driver's variables
    not_known,          // to this driver
    path_too_long,
    no_room,
    refused,
};

enum class AfterDump { go_on, abort };

/// After a cuInit that succeeded, before there is a context: a fault writes `path`, and the program goes on
/// to see the error that it would have seen, or is aborted. What somebody has asked of the driver stays as it
/// is, wherever that goes; `has_room` is about `path`.
FaultDump arm_fault_dump(const FaultDumpApi& api, const std::string& path, bool has_room, AfterDump after,
                         const char* (*variable)(const char* name));

/// What somebody else has asked of the driver.
struct DumpOfOthers {
    bool is_enabled = false;
    // An absolute path, in which `%t` stands for the moment of the fault; empty: not known.
    std::string path;
};

/// After FaultDump::asked_for_already.
DumpOfOthers dump_of_others(const FaultDumpApi& api, const char* (*variable)(const char* name));

/// Besides, whoever writes to `pipe`, which the driver makes, gets such a record though nothing has faulted.
/// False where the driver does not.
bool arm_dump_on_request(const FaultDumpApi& api, const std::string& pipe);
/// Contexts that come later do without it. Who writes to that of an earlier one is told of them, too.
bool open_no_more_pipes(const FaultDumpApi& api);

}  // namespace aoti_dbg
