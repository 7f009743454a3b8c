// How a program came to a bad end, as a struct, as a screen of text, as report.json and as one line (all
// drawn in docs/reference/report.md). Plain: whatever it is about is gone. Facts are gathered by others
// (triage/gather, a reader of GPU core dumps); here they are judged and told. Must not touch the process, and
// allocates as it likes: it is not for the process that crashes.
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
#include "serializer/cuda_error.hpp"
#include "serializer/finding.hpp"
#include "serializer/hang.hpp"
#include "triage/judge/fault_words.hpp"

namespace aoti_dbg {

inline constexpr std::string_view kReportFormatName = "aoti-dbg-report";
inline constexpr std::uint32_t kReportFormatVersion = 1;

struct CrashArgument {
    std::string label;
    std::string what;        // "float32 [8, 16], min -1, max 2"; empty where only its name is known
    std::string written_by;  // last, before the call: "triton_poi_fused_exp_0 (call 3)"; empty: unknown
    bool is_suspect = false;
    // Of a tensor: where its elements lay. 0: not known.
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::string parameter = {};  // of the kernel or op; empty: not known
    // What the model's source says of a tensor, or what was measured.
    std::string dtype = {};  // empty: not known
    bool has_sizes = false;
    std::vector<std::string> sizes = {};  // "8"; a symbol or expression where it is no number, "?": unknown
    bool is_expected = false;  // it comes from outside of the model, which was compiled for such a one
    std::string value = {};    // of a scalar; empty: not known
};

struct SourceText {
    std::uint32_t line = 0;
    std::string text;
};

/// Where on a device it went wrong, or goes on for ever, by who has read that from a core dump. Empty and 0:
/// not known.
struct DeviceFault {
    std::string kernel;
    std::int32_t error = 0;  // as CUresult
    std::string device;      // "cuda:0"
    std::string grid;        // "[128, 1, 1]", as all three below
    std::string block_size;
    std::string block;
    std::string thread;
    std::string address;  // that the thread accessed, hexadecimal
    std::string file;     // of the kernel's source
    std::uint32_t line = 0;
    std::string source;    // that line
    bool is_trap = false;  // the kernel stopped itself
    // Of the launch among those of its context, as the driver counts them; 0: not known.
    std::uint64_t launch = 0;
    std::uint64_t later_launch = 0;  // one that came after it
    std::uint64_t context = 0;       // the CUcontext of both as a number; 0: not known
    std::string parameter;           // through which the line reads or writes; a guess
    bool is_write = false;
    std::optional<FaultedAccess> accessed;
    std::string dump;                   // the file that says all of this; empty: it says more
    std::uint64_t written_unix_ns = 0;  // when that was written
    bool is_dump_of_others = false;     // who have asked for it, so it stays
    // Nothing went wrong that the driver knows of: it was asked at a hang. So many warps of so many blocks
    // were there, the most that stood together at that line.
    bool is_running = false;
    std::uint64_t warps = 0;
    std::uint64_t blocks = 0;
    std::uint64_t warps_there = 0;
};

/// How a process ended.
struct CrashEnd {
    std::uint32_t pid = 0;
    std::string program;
    std::string folder;                    // where it left what is known of it
    std::string rank;                      // among the processes of a job; empty: none
    bool is_descendant = false;            // of the program that was started, whose end it is not
    bool is_in_good_order = false;         // by its own note
    bool is_running = false;               // it has not ended
    int signal = 0;                        // 0: none
    std::uint32_t thread = 0;              // to which it came; 0: not known
    std::optional<std::uint64_t> address;  // whose access it came of
    bool is_foreign_thread = false;        // which has no call on record: hardly one of the program's
    bool signal_is_guessed = false;  // from the exit status, as shells have it, or from the program's own
    std::optional<int> exit_status;  // of the program that was started

    [[nodiscard]] bool has_own_status() const { return exit_status && !is_descendant; }
    /// Whether anything says how it ended, or that it has not.
    [[nodiscard]] bool is_known() const { return signal != 0 || has_own_status() || is_running; }
};

struct CrashReport {
    // Facts.
    CrashEnd end;
    std::vector<std::string> command;  // of the program that was started
    std::string working_folder;        // in which it was; empty: not known
    std::string tool;                  // by which a shell finds aoti-dbg; empty: by its name
    std::vector<std::pair<std::string, std::string>> flags;  // of `aoti-dbg run` that are to be kept
    std::vector<std::pair<std::string, std::string>> repeat_variables;  // that `command` was started with
    // Of each thread the innermost call that had not come back; where it is known to which thread the signal
    // came only of that one, and `also_in_flight` of the others.
    std::vector<CrashCall> in_flight;
    std::vector<CrashCall> also_in_flight;
    std::optional<CrashCall> failed;  // returned an error, or was left by an exception
    bool failed_survived = false;     // runs after it ended well
    bool failed_alone = false;        // it waited for its kernel, as all launches did, and none was beside it
    std::optional<CrashCall> last;    // to have begun, where none is in flight
    // Those before, the last first: in the same thread, or of a launch at fault on the same stream, and then
    // those on others.
    std::vector<CrashCall> before;
    std::vector<CrashCall> before_elsewhere;
    std::vector<CrashArgument> arguments;  // of call()
    std::optional<DeviceFault> device;
    // The last that launched the kernel which `device` names; of a hang the call that it is about; without
    // `device` what completion markers tell, or who alone asserts.
    std::optional<CrashCall> faulted;
    bool by_markers = false;          // `faulted`, or that it is one of `suspects`
    bool by_assertion = false;        // the same
    std::vector<CrashCall> suspects;  // where these leave several, no more than kMostUnended of them
    std::uint64_t suspect_count = 0;
    std::vector<SourceText> assertions;  // of the kernel that `faulted` or all of `suspects` are launches of
    // Launches not known to have ended, no more than kMostUnended of them, and how many these are: where
    // nothing tells more of a context that has failed, the oldest first; else those beside `faulted`, the
    // nearest first.
    std::vector<CrashCall> unended;
    std::uint64_t unended_count = 0;
    std::uint64_t without_source = 0;     // of these, with `by_assertion`: whether they assert nobody knows
    std::vector<NearMemory> allocations;  // where the address of `device` lies, or what is near it
    std::optional<Shortage> shortage;     // of memory, in `failed`
    std::optional<Hang> hang;
    std::optional<Finding> finding;  // the first, or one of what was under way at the end
    // Where the verdict is `finding`: the call that this is about, or the run, if it is about what that was
    // given.
    std::optional<CrashCall> found;
    std::uint64_t findings = 0;
    std::uint64_t processes = 0;        // that recorded calls
    std::uint64_t loaded = 0;           // processes that had the library, as they counted; 0: nobody knows
    std::uint64_t recording = 0;        // and made calls, which may be on no record
    std::int32_t unrecorded_error = 0;  // that ended a context in a process without a record; 0: none
    std::uint64_t runs = 0;             // of all of them
    std::uint64_t calls = 0;
    std::optional<std::uint64_t> oom_kills;  // in our control group, meanwhile
    bool uses_cuda = false;
    std::vector<std::pair<std::string, std::string>> environment;  // what, and which: "torch", "2.11.0"
    std::vector<std::pair<std::string, std::string>> variables;    // of the program's environment
    std::string library;                                           // our version
    std::vector<std::string> notes;  // what makes it less certain: whole clauses

    // What conclude() makes of them.
    CrashClass kind = CrashClass::unknown;
    std::string verdict;  // a sentence without full stop
    std::string fingerprint;
    std::string coarse_fingerprint;   // the same without the line
    std::vector<std::string> repeat;  // commands for a shell

    // Where has_long_commands(): a script of them, by whoever has written it.
    std::string repeat_script;
    std::vector<std::string> next;  // what to try

    /// The one that it is about; null where several come into question, or none.
    [[nodiscard]] const CrashCall* call() const;
    /// Whether `device` says where a kernel faulted.
    [[nodiscard]] bool has_fault() const { return device && !device->is_running; }
    /// The one that failed, unless the process went on for longer than it does to end by a signal for that.
    [[nodiscard]] const CrashCall* reported_failure() const;
};

/// The verdict is the finding, and not what the program came to: of the facts but for `found`.
bool is_about_finding(const CrashReport& report);

/// Runs are counted by each model.
bool is_of_run_of(const Finding& finding, const CrashCall& call);

/// Whether a process ended as one does to which a failure on the device has come: by itself, or by an
/// exception that nobody caught.
bool may_come_of_failure(const CrashEnd& end);

/// The same of a failure after which nothing works on the device any more: the driver's own threads are known
/// to fall over it.
bool may_come_of_lost_context(const CrashReport& report);

/// Whether by that signal the processor or the program itself says that the program is wrong.
bool is_fault(int signal);

/// "SIGSEGV"; "signal 34" where it has no name.
std::string signal_name(int signal);

/// `words` so that a shell takes them for what they are.
std::string shell_text(const std::vector<std::string>& words);

/// Whether its process was gone inside of a call, and nothing says why.
[[nodiscard]] bool has_unknown_end(const CrashReport& report);

/// The same facts come to the same, whatever addresses, processes and times were.
void conclude(CrashReport& report);

/// Sixteen hexadecimal digits over the words, none of which may say where or when.
std::string fingerprint_of(const std::vector<std::string_view>& words);

/// Of what conclude() found (codes.hpp): that of the finding that the verdict is about, else that of the
/// class.
std::uint32_t code_of(const CrashReport& report);

/// Of a kernel that Inductor has made and named, "triton_poi_fused_index_3", the name without the number:
/// that counts the kernels before it.
std::string_view without_ordinal(std::string_view kernel);

/// Whether `repeat` takes many lines, or holds characters that a page cannot show.
bool has_long_commands(const CrashReport& report);

/// The verdict, a blank line, and what is known, in the order of use. Lines wrap; nothing is left out.
void append_report_text(const CrashReport& report, std::string& out);

/// report.json, the whole file.
void append_report_json(const CrashReport& report, std::string& out);

inline constexpr std::size_t kVerdictBytes = 2048;

/// One line of JSON of at most kVerdictBytes, newline included. `path` is where the whole report is.
void append_verdict_line(const CrashReport& report, std::string_view path, std::string& out);

}  // namespace aoti_dbg
