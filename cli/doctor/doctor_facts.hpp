// The facts about a machine that `aoti-dbg doctor` judges, as plain values. The first half comes from child
// processes (doctor_trials), the second from files, limits and variables (doctor_machine).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace aoti_dbg::cli {

/// Why a child failed, such as "did not exit within 30 s and was killed". Empty if it did its job.
using Trouble = std::string;

struct Gpu {
    std::string name;
    std::string uuid;
    std::string capability;  // "9.0"
    std::uint64_t memory = 0;
    int compute_mode = 0;  // a CUcomputemode; 0 means unrestricted
};

struct DriverFacts {
    Trouble trouble;
    std::string package;  // "580.159.04"; empty if unknown
    std::string missing;  // why libcuda.so.1 cannot be loaded; empty if it can
    int version = 0;      // 13000 is CUDA 13.0
    std::optional<int> init;
    std::vector<Gpu> gpus;
    std::optional<int> dump_attributes;  // result of querying one; empty if the driver lacks the function
    bool announces_dumps = false;        // has cuCoredumpRegisterStartCallback
    std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES

    [[nodiscard]] bool has_gpu() const { return trouble.empty() && !gpus.empty(); }
};

/// One path from a launch to the library.
struct Door {
    std::string name;
    std::optional<int> launch;  // what the launch returned; empty if there was none to try
    bool is_seen = false;       // the library has it in its flight ring
};

struct LibraryFacts {
    std::string path;  // empty if not found
    Trouble trouble;
    bool is_loaded = false;
    std::string loader;       // one line of the loader's output
    std::string version;      // as the library says, in its file or once loaded; empty if it does not
    std::string own_version;  // the command's version
};

struct DoorFacts {
    Trouble trouble;
    bool is_library_loaded = false;
    bool has_gpu = false;
    std::string dlsym_of;  // the file whose dlsym the program got
    bool is_dlsym_ours = false;
    std::string stopped;  // the driver call that failed before a launch, and why
    std::vector<Door> doors;
    std::vector<std::string> warnings;  // from the library
};

struct FaultFacts {
    bool has_gpu = false;
    Trouble trouble;
    std::string stopped;
    std::optional<int> launch;
    std::optional<int> error;  // the error that the program got for the fault; empty if none
    bool has_verdict = false;
    std::string verdict;
    std::string kind;    // the class of the crash
    std::string kernel;  // the kernel that the verdict names
    std::uint64_t dump_bytes = 0;
    std::optional<double> dump_seconds;  // from the launch to the last byte written
    std::vector<std::string> warnings;   // from the library
};

struct PythonFacts {
    std::string program;
    std::string torch;
    std::string triton;
};

struct InterposerFacts {
    std::string system_preload;                                  // contents of /etc/ld.so.preload
    std::vector<std::pair<std::string, std::string>> variables;  // the environment
};

struct OutputFacts {
    std::string pattern;  // AOTI_DBG_OUT
    std::string place;    // the part of the path that exists
    std::string refused;  // why it is not writable; empty if it is
    std::uint64_t room = 0;
    std::uint64_t size = 0;                   // of the file system
    std::uint64_t max_bytes = 0;              // AOTI_DBG_MAX_BYTES
    std::string network;                      // "NFS"; empty if it is no known network file system
    std::optional<std::uint64_t> file_limit;  // RLIMIT_FSIZE; empty if unlimited
};

struct LimitFacts {
    bool has_gpu = false;
    std::uint64_t staging = 0;
    // Empty means unlimited.
    std::optional<std::uint64_t> core;
    std::optional<std::uint64_t> locked;
    std::optional<std::uint64_t> files;
    std::optional<std::uint64_t> address_space;
    std::optional<std::uint64_t> memory;         // of the control group
    std::optional<std::uint64_t> shared_memory;  // size of /dev/shm; empty if there is none
    int seccomp = 0;                             // as in /proc/self/status
    bool no_new_privileges = false;
};

}  // namespace aoti_dbg::cli
