// A software libcupti over the software driver: records of kernels and of the calls that launch them. Records
// are as long as those of CUDA 13, so a reader must walk with cuptiActivityGetNextRecord.
//   FAKE_CUPTI_HELD=1     another profiler holds CUPTI
//   FAKE_CUPTI_REFUSES=1  enabling fails, as without privileges
//   FAKE_CUPTI_STUCK=1    flushing does not return
//   FAKE_CUPTI_LATE=1     delivers kernels before the calls that launched them
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "shim/timeline/cupti_api.hpp"
#include "tests/fakes/driver/fake_cuda_control.h"

using namespace aoti_dbg::cupti;

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

constexpr Status kHeld = kMultipleSubscribers;
constexpr Status kInsufficientPrivileges = 35;
constexpr Status kLimitReached = 12;

bool is_set(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value == '1';
}

// Sizes of CUpti_ActivityKernel10 and CUpti_ActivityAPI.
constexpr std::size_t kKernelBytes = 224;
constexpr std::size_t kCallBytes = 40;

struct State {
    std::mutex mutex;
    void* subscriber = nullptr;
    RequestBuffer request = nullptr;
    CompleteBuffer complete = nullptr;
    std::set<Kind> kinds;
    std::set<std::uint32_t> functions;
    std::vector<std::string> calls;  // records that wait for a flush
    std::vector<std::string> kernels;
    std::size_t dropped = 0;
};

State& state() {
    static auto* const all = new State;
    return *all;
}

/// Names stay valid, as in CUPTI.
const char* kept_name(const char* name) {
    static auto* const names = new std::set<std::string>;
    return names->insert(name).first->c_str();
}

template <typename Record>
std::string bytes_of(const Record& record, std::size_t bytes) {
    std::string text(bytes, '\0');
    std::memcpy(text.data(), &record, sizeof record);
    return text;
}

void called(std::uint32_t function, std::uint32_t correlation, std::uint32_t thread, std::uint64_t start,
            std::uint64_t end) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    if (now.functions.count(function) == 0 && now.kinds.count(Kind::driver_api) == 0) return;
    const ApiCall call{Kind::driver_api, function,    start, end, static_cast<std::uint32_t>(getpid()),
                       thread,           correlation, 0};
    now.calls.push_back(bytes_of(call, kCallBytes));
}

void ran(const char* kernel, std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    if (now.kinds.count(Kind::kernel) == 0) return;
    Kernel record{};
    record.kind = Kind::kernel;
    record.start = start;
    record.end = end;
    record.context = 1;
    record.stream = 7;
    record.correlation = correlation;
    record.name = kept_name(kernel);
    now.kernels.push_back(bytes_of(record, kKernelBytes));
}

constexpr fake_cuda_profiler kProfiler = {called, ran};

/// Delivers these records, a buffer at a time.
void deliver(const std::vector<std::string>& records) {
    State& now = state();
    for (std::size_t i = 0; i < records.size();) {
        std::uint8_t* buffer = nullptr;
        std::size_t bytes = 0;
        std::size_t most = 0;
        now.request(&buffer, &bytes, &most);
        std::size_t used = 0;
        for (; i < records.size() && used + records[i].size() <= bytes; ++i) {
            std::memcpy(buffer + used, records[i].data(), records[i].size());
            used += records[i].size();
        }
        if (buffer == nullptr) {
            now.dropped += records.size() - i;
            return;
        }
        now.complete(nullptr, 0, buffer, bytes, used);
    }
}

}  // namespace

FAKE_API Status cuptiSubscribe(void** subscriber, void* callback, void* /*data*/) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    if (now.subscriber != nullptr || is_set("FAKE_CUPTI_HELD")) return kHeld;
    *subscriber = now.subscriber = callback;
    return kSuccess;
}

FAKE_API Status cuptiUnsubscribe(void* /*subscriber*/) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    now.subscriber = nullptr;
    return kSuccess;
}

FAKE_API Status cuptiActivityRegisterCallbacks(RequestBuffer request, CompleteBuffer complete) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    now.request = request;
    now.complete = complete;
    if (auto* const profile =
            reinterpret_cast<void (*)(const fake_cuda_profiler*)>(dlsym(RTLD_DEFAULT, "fake_cuda_profile"));
        profile != nullptr)
        profile(&kProfiler);
    return kSuccess;
}

FAKE_API Status cuptiActivityEnable(Kind kind) {
    if (is_set("FAKE_CUPTI_REFUSES")) return kInsufficientPrivileges;
    State& now = state();
    const std::lock_guard lock(now.mutex);
    now.kinds.insert(kind);
    return kSuccess;
}

FAKE_API Status cuptiActivityDisable(Kind kind) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    now.kinds.erase(kind);
    if (kind == Kind::driver_api) now.functions.clear();
    return kSuccess;
}

FAKE_API Status cuptiActivityEnableDriverApi(std::uint32_t function, std::uint8_t enable) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    if (enable != 0) {
        now.functions.insert(function);
    } else {
        now.functions.erase(function);
    }
    return kSuccess;
}

FAKE_API Status cuptiActivityEnableRuntimeApi(std::uint32_t /*function*/, std::uint8_t /*enable*/) {
    return kSuccess;
}

FAKE_API Status cuptiActivityFlushAll(std::uint32_t /*flags*/) {
    while (is_set("FAKE_CUPTI_STUCK"))
        sleep(1);
    State& now = state();
    std::vector<std::string> calls;
    std::vector<std::string> kernels;
    {
        const std::lock_guard lock(now.mutex);
        calls.swap(now.calls);
        kernels.swap(now.kernels);
    }
    const bool is_late = is_set("FAKE_CUPTI_LATE");
    deliver(is_late ? kernels : calls);
    deliver(is_late ? calls : kernels);
    return kSuccess;
}

FAKE_API Status cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t used, Record** record) {
    std::uint8_t* next = buffer;
    if (*record != nullptr) {
        next = reinterpret_cast<std::uint8_t*>(*record);
        next += (*record)->kind == Kind::kernel ? kKernelBytes : kCallBytes;
    }
    if (next >= buffer + used) return kLimitReached;
    *record = reinterpret_cast<Record*>(next);
    return kSuccess;
}

FAKE_API Status cuptiActivityGetNumDroppedRecords(CUctx_st* /*context*/, std::uint32_t /*stream*/,
                                                  std::size_t* count) {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    *count = now.dropped;
    now.dropped = 0;
    return kSuccess;
}

FAKE_API Status cuptiGetResultString(Status status, const char** text) {
    *text = status == kInsufficientPrivileges ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
    return kSuccess;
}
