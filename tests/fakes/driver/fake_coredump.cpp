// Core dumps of faults and on request. Fault dumps must be enabled after cuInit and before the first context,
// by cuCoredumpSetAttributeGlobal or by the driver's variables, which override it. A byte in the pipe, which
// exists from the first context on, requests a dump.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "tests/fakes/driver/fake_driver.hpp"
#include "tests/support/gpu_dump_writer.hpp"

namespace fake_cuda {
namespace {

struct CoreDumps {
    std::mutex mutex;
    bool enabled = false;
    bool is_late = false;  // a context exists or existed
    std::string file;
    unsigned contents = 0;
    bool answers = false;  // to writers of the pipe
    std::string pipe;
    std::set<std::uint64_t> listening;  // contexts that have opened the pipe
    Launched progress;
};

CoreDumps& dumps() {
    static auto* instance = new CoreDumps;
    return *instance;
}

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

bool is_known() {
    return std::getenv("FAKE_CUDA_NO_COREDUMP") == nullptr;
}

enum class DumpOf { fault, running };

std::string dump_of(DumpOf what, const Launched& launched, const std::string& words) {
    using namespace aoti_dbg::test;
    constexpr std::uint64_t kEntry = 0x7f4900002000;
    constexpr std::uint64_t kNextEntry = 0x7f4900003000;
    constexpr std::uint32_t kIllegalAddress = 14;
    const char* const kind = variable("FAKE_CUDA_FAULT_KIND");
    const auto is = [kind](const char* one) { return kind != nullptr && std::strcmp(kind, one) == 0; };
    const bool is_late = is("late_store");
    const bool has_fault = what == DumpOf::fault;
    DumpWarp warp;
    if (has_fault && !is("trap")) warp.error_pc = kEntry + 0x40;
    warp.is_broken = is("trap");
    // The pc is two instructions after LDG.E.STRONG.SYS R8, [R6.64+0x10], which dereferenced a null pointer.
    warp.lanes = {{3, is_late ? kNextEntry : kEntry + 0x60, {3, 0, 0}, 0}};
    warp.lanes.front().registers.assign(16, 0);
    warp.lanes.front().predicates = {1, 0, 0, 0, 0, 0, 0, 1};
    const std::string code =
        std::string(0x40, '\0') + Packed().u64(0x0000100606087981).u64(0x002f68000c1f5900).bytes();
    warp.valid = warp.active = 1U << 3U;
    DumpBlock block;
    block.grid = launched.grid + (is_late ? 1 : 0);
    block.index = {1, 0, 0};
    block.warps = {warp};
    DumpSm sm;
    if (has_fault && !is("trap")) sm.exception = kIllegalAddress;
    sm.error_pc = warp.error_pc;
    sm.text = words;
    const bool has_block = !is("store") && !launched.kernel.empty();
    if (has_block) sm.blocks = {block};
    DumpGrid grid;
    grid.id = block.grid;
    grid.context = reinterpret_cast<std::uintptr_t>(launched.context);
    grid.entry = is_late ? kNextEntry : kEntry;
    DumpContext context;
    context.id = grid.context;
    context.modules = {{grid.module, module_image({{launched.kernel, 0x200, kEntry, true, code},
                                                   {"next", 0x200, kNextEntry, true}})}};
    // The dump lists all devices that the process sees, by ordinal.
    DumpWriter writer;
    writer.devices.resize(static_cast<std::size_t>(device_count()));
    DumpDevice& device = writer.devices.at(
        launched.context == nullptr ? 0 : static_cast<std::size_t>(launched.context->device));
    device.contexts = {context};
    if (has_block) device.grids = {grid};
    device.sms = {sm};
    return writer.bytes();
}

void write(DumpOf what, const Launched& launched) {
    const std::lock_guard lock(dumps().mutex);
    const char* named = variable("CUDA_COREDUMP_FILE");
    std::FILE* file = std::fopen(named != nullptr ? named : dumps().file.c_str(), "we");
    if (file == nullptr) return;
    char contents[32];
    std::snprintf(contents, sizeof contents, "contents %#x", dumps().contents);
    const std::string bytes = dump_of(what, launched, contents);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
}

/// Opens the pipe for reading and writing, like the driver, so that a closing writer does not wake it.
bool answer(const std::string& path) {
    static bool was_made = false;
    if (!std::exchange(was_made, true) && mkfifo(path.c_str(), 0640) != 0) return false;
    const int pipe = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (pipe < 0) return false;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([pipe, path] {
        pollfd asked{pipe, POLLIN, 0};
        char byte = 0;
        do {
            while (poll(&asked, 1, -1) <= 0) {
            }
        } while (read(pipe, &byte, 1) != 1);  // only one of several contexts reads the byte
        unlink(path.c_str());
        std::unique_lock lock(dumps().mutex);
        const Launched progress = dumps().progress;
        if (dumps().listening.empty()) return;
        lock.unlock();
        record_on_request(progress);
    }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return true;
}

}  // namespace

bool note_context(std::uint64_t id) {
    const std::lock_guard lock(dumps().mutex);
    dumps().is_late = true;
    if (!dumps().answers) return true;
    if (!answer(dumps().pipe)) return false;
    dumps().listening.insert(id);
    return true;
}

void note_end_of_context(std::uint64_t id) {
    const std::lock_guard lock(dumps().mutex);
    dumps().listening.erase(id);
}

void note_stalled_kernel(const Launched& launched) {
    const std::lock_guard lock(dumps().mutex);
    if (!launched.kernel.empty() && !dumps().progress.kernel.empty()) return;
    static const char* const instead = std::getenv("FAKE_CUDA_STANDING_KERNEL");
    dumps().progress = launched;
    if (instead != nullptr && !launched.kernel.empty()) dumps().progress.kernel = instead;
}

bool core_dump_is_armed() {
    const std::lock_guard lock(dumps().mutex);
    const char* asked = variable("CUDA_ENABLE_COREDUMP_ON_EXCEPTION");
    return asked != nullptr ? std::strcmp(asked, "1") == 0 : dumps().enabled;
}

bool core_dump_aborts() {
    constexpr unsigned kSkipAbort = 0x10;
    const std::lock_guard lock(dumps().mutex);
    return (dumps().contents & kSkipAbort) == 0;
}

void write_core_dump(const Launched& launched) {
    if (core_dump_is_armed()) write(DumpOf::fault, launched);
}

void write_running(const Launched& launched) {
    write(DumpOf::running, launched);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuCoredumpGetAttributeGlobal(CUcoredumpSettings what, void* value, std::size_t* bytes) {
    if (!is_known()) return CUDA_ERROR_NOT_SUPPORTED;
    if (value == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(dumps().mutex);
    if (what == CU_COREDUMP_FILE) {
        const char* const named = variable("CUDA_COREDUMP_FILE");
        const std::string name = named != nullptr ? named : dumps().file;
        if (name.size() >= *bytes) return CUDA_ERROR_INVALID_VALUE;
        *bytes = name.copy(static_cast<char*>(value), name.size());
        static_cast<char*>(value)[name.size()] = '\0';
        return CUDA_SUCCESS;
    }
    if (what != CU_COREDUMP_ENABLE_ON_EXCEPTION || *bytes != sizeof(bool)) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<bool*>(value) = dumps().enabled;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCoredumpSetAttributeGlobal(CUcoredumpSettings what, void* value, std::size_t* bytes) {
    if (!is_initialised()) std::abort();  // driver 580 crashes here
    if (!is_known()) return CUDA_ERROR_NOT_SUPPORTED;
    if (value == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(dumps().mutex);
    // Of all settings, only this one still takes effect later, for new contexts.
    if (dumps().is_late && what != CU_COREDUMP_ENABLE_USER_TRIGGER) return CUDA_SUCCESS;
    constexpr int kContents = 7;  // CU_COREDUMP_GENERATION_FLAGS, since 12.5
    switch (static_cast<int>(what)) {
        case CU_COREDUMP_ENABLE_ON_EXCEPTION:
            if (*bytes != sizeof(bool)) return CUDA_ERROR_INVALID_VALUE;
            dumps().enabled = *static_cast<bool*>(value);
            return CUDA_SUCCESS;
        case CU_COREDUMP_ENABLE_USER_TRIGGER:
            if (*bytes != sizeof(bool)) return CUDA_ERROR_INVALID_VALUE;
            dumps().answers = *static_cast<bool*>(value);
            return CUDA_SUCCESS;
        case CU_COREDUMP_PIPE:
            if (*bytes == 0 || *bytes > 1024) return CUDA_ERROR_INVALID_VALUE;
            dumps().pipe = static_cast<const char*>(value);
            return CUDA_SUCCESS;
        case CU_COREDUMP_FILE:
            if (*bytes == 0 || *bytes > 1024) return CUDA_ERROR_INVALID_VALUE;
            dumps().file = static_cast<const char*>(value);
            return CUDA_SUCCESS;
        case kContents:
            if (*bytes != sizeof(unsigned)) return CUDA_ERROR_INVALID_VALUE;
            dumps().contents = *static_cast<unsigned*>(value);
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}
