// What `aoti-dbg doctor` knows of a machine before it judges: plain values. What a child of its own found out
// is in the first half (doctor_trials), what files, limits and variables say in the second (doctor_machine).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace aoti_dbg::cli {

/// Of a child that did what it was asked to: empty. "did not exit within 30 s and was killed".
using Trouble = std::string;

struct Gpu {
    std::string name;
    std::string uuid;
    std::string capability;  // "9.0"
    std::uint64_t memory = 0;
    int compute_mode = 0;  // as CUcomputemode; 0: anybody may use it
};

struct DriverFacts {
    Trouble trouble;
    std::string package;  // "580.159.04"; empty: not known
    std::string missing;  // why libcuda.so.1 cannot be loaded; empty: it can
    int version = 0;      // 13000 is CUDA 13.0
    std::optional<int> init;
    std::vector<Gpu> gpus;
    std::optional<int> dump_attributes;  // what asking for one returned; empty: there is no such function
    bool announces_dumps = false;        // has cuCoredumpRegisterStartCallback
    std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES

    [[nodiscard]] bool has_gpu() const { return trouble.empty() && !gpus.empty(); }
};

/// A road by which launches reach the library.
struct Door {
    std::string name;
    std::optional<int> launch;  // what the launch returned; empty: there was none to try
    bool is_seen = false;       // by the library, in its flight ring
};

struct LibraryFacts {
    std::string path;  // empty: not found
    Trouble trouble;
    bool is_loaded = false;
    std::string loader;       // what the loader said, a line
    std::string version;      // as the library gives it; empty: it did not
    std::string own_version;  // of the command
};

struct DoorFacts {
    Trouble trouble;
    bool is_library_loaded = false;
    bool has_gpu = false;
    std::string dlsym_of;  // the file whose dlsym the program got
    bool is_dlsym_ours = false;
    std::string stopped;  // what of the driver failed before a launch, and why
    std::vector<Door> doors;
    std::vector<std::string> warnings;  // of the library
};

struct FaultFacts {
    bool has_gpu = false;
    Trouble trouble;
    std::string stopped;
    std::optional<int> launch;
    std::optional<int> error;  // what the program saw of the fault; empty: nothing
    bool has_verdict = false;
    std::string verdict;
    std::string kind;    // class
    std::string kernel;  // that it names
    std::uint64_t dump_bytes = 0;
    std::optional<double> dump_seconds;  // from the launch to the last byte
    std::vector<std::string> warnings;   // of the library
};

struct PythonFacts {
    std::string program;
    std::string torch;
    std::string triton;
};

struct InterposerFacts {
    std::string system_preload;                                  // content of /etc/ld.so.preload
    std::vector<std::pair<std::string, std::string>> variables;  // the environment
};

struct OutputFacts {
    std::string pattern;  // AOTI_DBG_OUT
    std::string place;    // what of it exists already
    std::string refused;  // why nothing can be made there; empty: it can
    std::uint64_t room = 0;
    std::uint64_t size = 0;                   // of the file system
    std::uint64_t max_bytes = 0;              // AOTI_DBG_MAX_BYTES
    std::string network;                      // "NFS"; empty: none that is known
    std::optional<std::uint64_t> file_limit;  // RLIMIT_FSIZE; empty: none
};

struct LimitFacts {
    bool has_gpu = false;
    std::uint64_t staging = 0;
    // Empty: no limit.
    std::optional<std::uint64_t> core;
    std::optional<std::uint64_t> locked;
    std::optional<std::uint64_t> files;
    std::optional<std::uint64_t> address_space;
    std::optional<std::uint64_t> memory;         // of the control group
    std::optional<std::uint64_t> shared_memory;  // size of /dev/shm; empty: there is none
    int seccomp = 0;                             // as /proc/self/status has it
    bool no_new_privileges = false;
};

}  // namespace aoti_dbg::cli
