#include "cli/replay/fault_dump.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/clean_text.hpp"
#include "base/proc_text.hpp"
#include "triage/gather/device_fault.hpp"
#include "triage/judge/fault_words.hpp"

namespace aoti_dbg::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnable = "CUDA_ENABLE_COREDUMP_ON_EXCEPTION";
constexpr const char* kFile = "CUDA_COREDUMP_FILE";
constexpr const char* kParts = "CUDA_COREDUMP_GENERATION_FLAGS";
// Only registers and code are read.
constexpr const char* kFewParts =
    "skip_nonrelocated_elf_images,skip_global_memory,skip_shared_memory,skip_local_memory,"
    "skip_constbank_memory,skip_abort";
/// Tools such as compute-sanitizer and ncu set one of them.
constexpr std::array kInjections = {"CUDA_INJECTION64_PATH", "CUDA_INJECTION32_PATH",
                                    "NVTX_INJECTION64_PATH"};

}  // namespace

bool is_debugged() {
    constexpr std::string_view kName = "\nTracerPid:\t";
    const std::string status = proc_text("/proc/self/status");
    const std::size_t at = status.find(kName);
    return at != std::string::npos && status.compare(at + kName.size(), 2, "0\n") != 0;
}

bool is_watched() {
    return is_debugged() ||
           std::ranges::any_of(kInjections, [](const char* name) { return std::getenv(name) != nullptr; });
}

void stop_for_debugger() {
    raise(SIGTRAP);
}

FaultDump::FaultDump() {
    std::error_code failed;
    std::string folder = (fs::temp_directory_path(failed) / "aoti-dbg-replay-XXXXXX").string();
    if (failed || mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    setenv(kEnable, "1", 1);
    setenv(kFile, (folder_ + "/gpu.core").c_str(), 1);
    setenv(kParts, kFewParts, 1);
}

FaultDump::~FaultDump() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

DumpedFault FaultDump::read(const std::vector<CrashArgument>& arguments) const {
    if (folder_.empty()) return {};
    std::vector<std::string> notes;
    const std::optional<DeviceFault> fault = device_fault(folder_, 0, notes);
    if (!fault) return {};
    DumpedFault dumped;
    const PlacedAccess access = place_access(*fault, arguments);
    if (const std::string words = access_words(*fault, arguments, access); !words.empty())
        dumped.lines += "  " + words + "\n";
    if (fault->line != 0) {
        dumped.place = clean_text(fault->file) + ":" + std::to_string(fault->line);
        dumped.lines += "  at " + dumped.place + "\n";
    }
    if (!fault->block.empty())
        dumped.lines +=
            "  in block " + fault->block + (access.thread.empty() ? "" : ", thread " + access.thread) + "\n";
    return dumped;
}

}  // namespace aoti_dbg::cli
