// See device_fault.hpp. The library requests the dumps itself (shim/faults/fault_dump), so their names are
// known.
#include "triage/gather/device_fault.hpp"

#include <limits.h>
#include <sys/stat.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "base/mapped_file.hpp"
#include "base/readable_symbol.hpp"
#include "base/words.hpp"
#include "gpu_dump/fault_access.hpp"
#include "gpu_dump/gpu_exception.hpp"
#include "gpu_dump/gpu_faults.hpp"
#include "gpu_dump/gpu_running.hpp"
#include "triage/gather/folder_entries.hpp"

namespace aoti_dbg {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t kLaunchFailed = 719;

/// Returns the CUDA error that the program gets for an exception; unspecified launch failure for unknown
/// ones.
std::int32_t driver_error(std::uint32_t exception) {
    struct ErrorOf {
        std::uint32_t exception;
        std::int32_t error;
    };
    constexpr ErrorOf kErrors[] = {{1, 700}, {3, 714},  {4, 715},  {5, 700},  {6, 716},  {7, 717},
                                   {8, 718}, {9, 714},  {10, 700}, {11, 716}, {12, 710}, {14, 700},
                                   {22, 36}, {26, 715}, {30, 700}, {32, 214}};
    const auto* const found =
        std::find_if(std::begin(kErrors), std::end(kErrors),
                     [exception](const ErrorOf& one) { return one.exception == exception; });
    return found == std::end(kErrors) ? kLaunchFailed : found->error;
}

std::string text_of(const gpu::Dim3& dim) {
    return "[" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z) + "]";
}

void add_source(const gpu::GpuDump& dump, const gpu::Fault& fault, DeviceFault& details) {
    if (!fault.place) return;
    const std::vector<SourceLine> frames = gpu::source_lines(dump, *fault.place);
    if (frames.empty()) return;
    // The outermost frame is the kernel's own line, not that of inlined code.
    details.file = frames.back().file;
    details.line = static_cast<std::uint32_t>(frames.back().line);
}

/// Returns the access of a memory fault.
std::optional<FaultedAccess> accessed_by(const gpu::GpuDump& dump, const gpu::Fault& fault,
                                         const std::optional<gpu::FaultAccess>& found) {
    if (!found) return std::nullopt;
    constexpr const char* kAccesses[] = {"read", "write", "atomic"};
    constexpr const char* kMemories[] = {"", "shared", "local"};
    FaultedAccess access;
    access.what = kAccesses[static_cast<std::size_t>(found->instruction.access)];
    access.memory = kMemories[static_cast<std::size_t>(found->instruction.space)];
    access.bytes = found->instruction.bytes;
    access.is_certain = found->is_certain;
    for (const gpu::FaultAccess::Thread& thread : found->threads)
        access.threads.push_back({text_of(thread.index), thread.address});
    if (fault.grid != gpu::kNone) {
        const elf::Bytes bytes = dump.grids[fault.grid].parameters;
        access.parameters.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return access;
}

/// Returns the first fault with usable thread registers, among the first fault and others at the same place.
const gpu::Fault& best_of(const gpu::GpuDump& dump, const std::vector<gpu::Fault>& faults) {
    constexpr std::size_t kMostInspected = 64;
    for (std::size_t i = 0; i < std::min(faults.size(), kMostInspected); ++i) {
        const gpu::Fault& fault = faults[i];
        if (fault.device != faults[0].device || fault.pc != faults[0].pc || fault.grid != faults[0].grid)
            continue;
        const std::optional<gpu::FaultAccess> access = gpu::fault_access(dump, fault);
        if (access && !access->threads.empty()) return fault;
    }
    return faults.front();
}

DeviceFault fault_details(const gpu::GpuDump& dump, const gpu::Fault& fault) {
    DeviceFault details;
    // Uses the names that calls have in the record.
    details.kernel =
        readable_symbol(fault.kernel.empty() && fault.place ? fault.place->function : fault.kernel);
    if (fault.exception) details.error = driver_error(*fault.exception);
    if (fault.is_trap) details.error = kLaunchFailed;
    details.is_trap = fault.is_trap;
    details.device = device_name(dump.devices[fault.device].id);
    if (fault.grid != gpu::kNone) {
        const gpu::Grid& grid = dump.grids[fault.grid];
        if (grid.blocks) details.grid = text_of(*grid.blocks);
        if (grid.threads) details.block_size = text_of(*grid.threads);
        details.launch = grid.id;
        details.context = grid.context;
    }
    if (fault.later_grid != gpu::kNone) {
        details.later_launch = dump.grids[fault.later_grid].id;
        details.context = dump.grids[fault.later_grid].context;
    }
    if (fault.block != gpu::kNone) details.block = text_of(dump.blocks[fault.block].index);
    if (!fault.threads.empty()) details.thread = text_of(fault.threads.front());
    add_source(dump, fault, details);
    if (is_memory_fault(details.error) && !fault.is_trap)
        details.accessed = accessed_by(dump, fault, gpu::fault_access(dump, fault));
    return details;
}

std::uint64_t written_unix_ns(const struct stat& file) {
    return static_cast<std::uint64_t>(file.st_mtim.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(file.st_mtim.tv_nsec);
}

struct Dump {
    fs::path path;
    bool is_of_others = false;
};

bool is_written_since(const fs::path& path, std::uint64_t since_unix_ns) {
    struct stat found {};
    return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
           written_unix_ns(found) >= since_unix_ns;
}

/// Returns the dumps that a `.place` file names: a path where `%t` matches any number.
std::vector<fs::path> dumps_at(const fs::path& place) {
    const Result<MappedFile> file = MappedFile::open(place.string());
    if (!file.ok()) return {};
    const std::string_view text = file.value().text().substr(0, PATH_MAX);
    const std::string line(text.substr(0, text.find('\n')));
    if (line.empty()) return {};
    const std::size_t time = line.rfind("%t");
    if (time == std::string::npos) return {fs::path(line)};
    const std::string begin = line.substr(0, time);
    const std::string end = line.substr(time + 2);
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : entries_of(fs::path(line).parent_path())) {
        const std::string path = entry.path().string();
        const bool is_long = path.size() > begin.size() + end.size();
        if (!is_long || path.rfind(begin, 0) != 0 || path.substr(path.size() - end.size()) != end) continue;
        const std::string number = path.substr(begin.size(), path.size() - begin.size() - end.size());
        if (number.find_first_not_of("0123456789") == std::string::npos) found.push_back(entry.path());
    }
    return found;
}

/// Returns the dumps written since then, by name.
std::vector<Dump> dumps_in(const std::string& folder, std::uint64_t since_unix_ns) {
    std::vector<Dump> dumps;
    for (const fs::directory_entry& entry : entries_of(folder)) {
        const std::string name = entry.path().filename();
        if (name.rfind("gpu", 0) != 0) continue;
        if (entry.path().extension() == ".core") dumps.push_back({entry.path()});
        if (entry.path().extension() != ".place") continue;
        for (const fs::path& path : dumps_at(entry.path()))
            dumps.push_back({path, true});
    }
    const auto is_old = [&](const Dump& dump) { return !is_written_since(dump.path, since_unix_ns); };
    dumps.erase(std::remove_if(dumps.begin(), dumps.end(), is_old), dumps.end());
    std::sort(dumps.begin(), dumps.end(), [](const Dump& a, const Dump& b) { return a.path < b.path; });
    return dumps;
}

/// Returns the result of `read` for the first dump that gives one.
template <typename Read>
std::optional<DeviceFault> first_in_dumps(const std::string& folder, std::uint64_t since_unix_ns,
                                          std::vector<std::string>& notes, Read read) {
    for (const auto& [path, is_of_others] : dumps_in(folder, since_unix_ns)) {
        const Result<MappedFile> file = MappedFile::open(path);
        if (!file.ok()) {
            notes.push_back(file.status().message());
            continue;
        }
        const Result<gpu::GpuDump> dump = gpu::read_gpu_dump(file.value().bytes());
        if (!dump.ok()) {
            notes.push_back(path.filename().string() + " " + dump.status().message());
            continue;
        }
        std::optional<DeviceFault> fault = read(dump.value(), path);
        if (!fault) continue;
        fault->is_dump_of_others = is_of_others;
        if (is_of_others)
            notes.push_back("the GPU core dump was requested outside aoti-dbg, so it is kept: " +
                            path.string());
        return fault;
    }
    return std::nullopt;
}

}  // namespace

std::optional<DeviceFault> device_fault(const std::string& folder, std::uint64_t since_unix_ns,
                                        std::vector<std::string>& notes) {
    const auto read = [&](const gpu::GpuDump& dump, const fs::path& path) -> std::optional<DeviceFault> {
        const std::vector<gpu::Fault> found = gpu::faults(dump, gpu::CodeMap(dump));
        if (found.empty()) return std::nullopt;
        const auto is_other = [&](const gpu::Fault& one) { return one.kernel != found.front().kernel; };
        const bool says_more = std::any_of(found.begin(), found.end(), is_other);
        if (says_more)
            notes.push_back(path.filename().string() +
                            " also shows faults in other kernels. Run: aoti-dbg show " + path.string());
        DeviceFault fault = fault_details(dump, best_of(dump, found));
        if (!says_more) fault.dump = path.string();
        struct stat file {};
        if (stat(path.c_str(), &file) == 0) fault.written_unix_ns = written_unix_ns(file);
        return fault;
    };
    return first_in_dumps(folder, since_unix_ns, notes, read);
}

std::optional<DeviceFault> running_kernel(const std::string& folder, std::uint64_t since_unix_ns,
                                          const std::string& expected, std::vector<std::string>& notes) {
    const auto read = [&](const gpu::GpuDump& dump, const fs::path& path) -> std::optional<DeviceFault> {
        const std::vector<gpu::Running> found = gpu::running(dump, gpu::CodeMap(dump));
        if (found.empty()) {
            notes.push_back(path.filename().string() + " shows no exception and no running kernel");
            return std::nullopt;
        }
        auto which = std::find_if(found.begin(), found.end(), [&expected](const gpu::Running& one) {
            return is_name_of(expected, readable_symbol(one.at.kernel));
        });
        if (which == found.end()) which = found.begin();
        DeviceFault fault = fault_details(dump, which->at);
        fault.is_running = true;
        fault.warps = which->warps;
        fault.blocks = which->blocks;
        fault.warps_there = which->warps_there;
        if (found.size() > 1)
            notes.push_back(path.filename().string() +
                            " also shows other running kernels. Run: aoti-dbg show " + path.string());
        else
            fault.dump = path.string();
        return fault;
    };
    std::vector<std::string> noted;  // device_fault() noted these already
    return first_in_dumps(folder, since_unix_ns, noted, read);
}

}  // namespace aoti_dbg
