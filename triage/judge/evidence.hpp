// What is known about how a run ended, as plain data: triage/gather reads it from the output folder, judge()
// (verdict.hpp) draws the conclusion. It owns its data, because the process is gone. It also has the
// questions that the evidence alone answers, so that gather knows what to read next. It must not read
// anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serializer/allocation_map.hpp"
#include "serializer/crash_call.hpp"
#include "serializer/driver_log.hpp"
#include "serializer/finding.hpp"
#include "serializer/hang.hpp"

namespace aoti_dbg {

/// Pairs of name and value: "torch", "2.11.0".
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

struct CrashArgument {
    std::string label;
    std::string what;        // "float32 [8, 16], min -1, max 2"; empty if only its name is known
    std::string written_by;  // last, before the call: "triton_poi_fused_exp_0 (call 3)"; empty: unknown
    // The address range of a tensor's elements. 0 means unknown.
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    bool is_from_tensor_map = false;  // this range; it must not influence the judgment of a fault
    std::string parameter = {};       // of the kernel or op; empty: unknown
    // A tensor's properties from the model's source or from measurement.
    std::string dtype = {};  // empty: unknown
    bool has_sizes = false;
    std::vector<std::string> sizes = {};  // "8"; a symbol or expression if not a number; "?": unknown
    bool is_expected = false;  // it comes from outside the model, which was compiled for such a tensor
    std::string value = {};    // of a scalar; empty: unknown
    bool is_shown = true;      // false: only its range counts, because measuring did not find its tensor
};

struct SourceText {
    std::uint32_t line = 0;
    std::string text;
};

/// The access of a memory fault, decoded from the faulting instruction.
struct FaultedAccess {
    std::string what;         // "read", "write", "atomic"
    std::uint32_t bytes = 0;  // per thread; 0: unknown
    std::string memory;       // "shared", "local"; empty: device memory
    struct Thread {
        std::string index;
        std::uint64_t address = 0;
    };
    std::vector<Thread> threads;  // any of them may have faulted; empty: their registers are lost
    bool is_certain = false;      // the registers are unchanged since the access
    std::string parameters;       // kernel parameters of the launch
};

/// Where on a device a kernel faulted, or loops forever, as read from a core dump. Empty and 0 mean unknown.
struct DeviceFault {
    std::string kernel;
    std::int32_t error = 0;  // a CUresult
    std::string device;      // "cuda:0"
    std::string grid;        // "[128, 1, 1]", as the three below
    std::string block_size;
    std::string block;
    std::string thread;
    std::string address;  // accessed by the thread, hexadecimal
    std::string file;     // of the kernel's source
    std::uint32_t line = 0;
    std::string source;    // the text of that line
    bool is_trap = false;  // the kernel stopped itself
    // The number of the launch in its context, as the driver counts. 0 means unknown.
    std::uint64_t launch = 0;
    std::uint64_t later_launch = 0;  // a launch that came after it
    std::uint64_t context = 0;       // the CUcontext of both as a number; 0: unknown
    std::string parameter;           // the one that the line reads or writes through; a guess
    bool is_write = false;
    std::optional<FaultedAccess> accessed;
    std::string dump;                   // the dump file, if it says no more than this; empty: it says more
    std::uint64_t written_unix_ns = 0;  // when the dump was written
    bool is_dump_of_others = false;     // another party requested the dump, so it stays
    // The driver knows of no error; it was asked during a hang. `warps` warps of `blocks` blocks were
    // present, and `warps_there` of them were at that line.
    bool is_running = false;
    std::uint64_t warps = 0;
    std::uint64_t blocks = 0;
    std::uint64_t warps_there = 0;
};

/// How a process ended.
struct CrashEnd {
    std::uint32_t pid = 0;
    std::string program;
    std::string folder;                    // where its recorded data is
    std::string rank;                      // in its distributed job; empty: none
    bool is_descendant = false;            // it is not the started program, but one of its descendants
    bool is_normal_exit = false;           // it recorded a normal exit
    bool is_running = false;               // it has not ended
    int signal = 0;                        // 0: none
    std::uint32_t thread = 0;              // that received it; 0: unknown
    std::optional<std::uint64_t> address;  // the accessed address that raised it
    bool is_foreign_thread = false;        // that thread has no recorded call, so it is hardly one of the
                                           // program's
    bool signal_is_guessed = false;  // from the exit status as shells encode it, or from the program's own
                                     // signal
    std::optional<int> exit_status;  // of the started program

    [[nodiscard]] bool has_own_status() const { return exit_status && !is_descendant; }
    /// True if it is known how the process ended, or that it still runs.
    [[nodiscard]] bool is_known() const { return signal != 0 || has_own_status() || is_running; }
};

struct Evidence {
    CrashEnd end;
    std::vector<std::string> command;  // of the started program
    std::string working_folder;        // working directory at its start; empty: unknown
    std::string tool;                  // the path where a shell finds aoti-dbg; empty: by its name
    NamedTexts flags;                  // options of `aoti-dbg run` to keep
    // The innermost open call of each thread. If the thread that received the signal is known, `in_flight`
    // has only its call, and `also_in_flight` has the others.
    std::vector<CrashCall> in_flight;
    std::vector<CrashCall> also_in_flight;
    std::optional<CrashCall> failed;  // returned an error, or an exception unwound it
    bool failed_survived = false;     // later runs succeeded
    bool failed_alone = false;        // every launch waited for its kernel, and no other launch overlapped
                                      // this one
    std::optional<CrashCall> last;    // the last to begin, if none is in flight
    // Earlier calls, latest first: of the same thread, or for a faulted launch those on its stream.
    // `before_elsewhere` has those on other streams.
    std::vector<CrashCall> before;
    std::vector<CrashCall> before_elsewhere;
    std::vector<CrashArgument> arguments;  // of call()
    std::optional<DeviceFault> device;
    // The last launch of the kernel that `device` names; for a hang, the blocking call. Without `device`, the
    // launch identified by completion markers or as the only one with an assertion.
    std::optional<CrashCall> faulted;
    bool is_captured = false;         // `aoti-dbg replay` can run `faulted` or `found` again
    bool is_captured_op = false;      // only with a script, because the captured call is an op
    bool by_markers = false;          // completion markers identified `faulted` or `suspects`
    bool by_assertion = false;        // an assertion identified them
    std::vector<CrashCall> suspects;  // if these leave several candidates, at most kMostUnended of them
    std::uint64_t suspect_count = 0;
    std::vector<SourceText> assertions;  // of the kernel of `faulted` or of all `suspects`
    // Launches not known to have ended, at most kMostUnended of them, and their total. If a context failed
    // without better evidence, the oldest come first. Otherwise these are the ones besides `faulted`, nearest
    // first.
    std::vector<CrashCall> unended;
    std::uint64_t unended_count = 0;
    std::uint64_t without_source = 0;      // of these, with `by_assertion`: no source shows whether they have
                                           // assertions
    std::vector<NearMemory> allocations;   // memory at the address of `device`, or near it
    std::optional<Shortage> shortage;      // the lack of memory that explains `failed`
    std::vector<DriverLine> driver_lines;  // what the driver logged inside `failed` or call()
    std::optional<Hang> hang;
    std::vector<Finding> findings;  // the first few
    std::uint64_t finding_count = 0;
    std::optional<Finding> finding;  // the first, or one of what was in progress at exit
    // If is_about_finding(): its call, or its run if the finding is about the run's inputs.
    std::optional<CrashCall> found;
    bool is_measured = false;           // events.jsonl has the tensors of `found`
    std::uint64_t processes = 0;        // that recorded calls
    std::uint64_t loaded = 0;           // processes that loaded the library, as they counted; 0: unknown
    std::uint64_t recording = 0;        // those that made calls, possibly without a record
    std::int32_t unrecorded_error = 0;  // destroyed a context in a process without a record; 0: none
    bool is_exit_known = true;          // the command waited for the started program
    bool has_dead_context = false;      // a launch of the process returned an error that destroys its context
    bool has_unexplained_end = false;   // another process ended abnormally without a known cause
    std::uint64_t runs = 0;             // of all processes
    std::uint64_t calls = 0;
    std::optional<std::uint64_t> oom_kills;  // in our control group, during the run
    bool uses_cuda = false;
    NamedTexts versions;             // of software, devices and packages
    NamedTexts variables;            // of the program's environment
    std::string library;             // library version
    std::vector<std::string> notes;  // reasons for doubt, as whole clauses

    /// Returns the call that the report is about, or null if there are several candidates or none.
    [[nodiscard]] const CrashCall* call() const;
    /// True if `device` has the place of a fault.
    [[nodiscard]] bool has_fault() const { return device && !device->is_running; }
    /// Returns the failed call, or null if later runs succeeded and a signal ended the process.
    [[nodiscard]] const CrashCall* reported_failure() const;
};

/// True if the report is about the finding, not how the program ended. It uses all evidence except `found`.
bool is_about_finding(const Evidence& evidence);

/// True if the evidence is about a failed call.
bool is_about_failure(const Evidence& evidence);

/// True for a shortage outside any call, where only the process's exit shows the failure.
bool is_about_shortage(const Evidence& evidence);

/// True if the finding may belong to the call's run. Each model counts its own runs.
bool is_of_run_of(const Finding& finding, const CrashCall& call);

/// True if the process exited by itself or by SIGABRT, as it does after a failed call or an uncaught
/// exception.
bool may_come_of_failure(const CrashEnd& end);

/// As may_come_of_failure(), after an error that makes the device unusable. The driver's own threads are
/// known to crash after such an error.
bool may_come_of_lost_context(const Evidence& evidence);

/// True if the signal means that the processor or the program itself detected an error.
bool is_fault(int signal);

/// True for the errors illegal address, misaligned address and invalid address space.
bool is_memory_fault(std::int32_t error);

/// Returns "SIGSEGV", or "signal 34" if it has no name.
std::string signal_name(int signal);

/// True if the process ended inside a call and the cause is unknown.
[[nodiscard]] bool has_unknown_end(const Evidence& evidence);

}  // namespace aoti_dbg
