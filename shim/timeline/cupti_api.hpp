// The part of CUPTI that the timeline uses: functions, constants and the first members of its records. CUPTI
// is found at run time, and its headers are not in every toolkit. The record layouts are those since CUDA
// 11.1 (CUpti_ActivityKernel5, Memcpy5, MemcpyPtoP3, Memset3, API). Later versions only append members.
// tests/unit/cupti_layout_test.cpp compares them with the vendor's header.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;  // of cuda.h

namespace aoti_dbg::cupti {

using Status = std::int32_t;
inline constexpr Status kSuccess = 0;
inline constexpr Status kMultipleSubscribers = 39;

/// Delivers also records of work that has not ended.
inline constexpr std::uint32_t kFlushForced = 1;

enum class Kind : std::uint32_t {
    copy = 1,
    set = 2,
    driver_api = 4,
    runtime_api = 5,
    kernel = 10,
    copy_between_devices = 22,
};

/// The start of each record.
struct [[gnu::packed]] Record {
    Kind kind;
};

struct [[gnu::packed]] Kernel {
    Kind kind;
    std::uint8_t unused[12];
    std::uint64_t start;  // 0 if unknown
    std::uint64_t end;
    std::uint64_t completed;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::int32_t shape[6];
    std::uint32_t memory[4];
    std::uint32_t correlation;
    std::int64_t grid;
    const char* name;
};

struct [[gnu::packed]] Copy {
    Kind kind;
    std::uint8_t kinds[4];
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
};

struct [[gnu::packed]] CopyBetweenDevices {
    Kind kind;
    std::uint8_t kinds[4];
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t places[4];
    std::uint32_t correlation;
};

struct [[gnu::packed]] Set {
    Kind kind;
    std::uint32_t value;
    std::uint64_t bytes;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
};

/// A call of the driver or of the runtime.
struct [[gnu::packed]] ApiCall {
    Kind kind;
    std::uint32_t function;
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t process;
    std::uint32_t thread;  // the low half of pthread_self()
    std::uint32_t correlation;
    std::uint32_t result;
};

/// Numbers of functions, from the first to the last.
struct Functions {
    std::uint32_t first;
    std::uint32_t last;
};
/// The functions that put kernels, copies and fills on streams, and few others.
inline constexpr Functions kDriverFunctions[] = {
    {43, 81},   {216, 227}, {248, 254}, {276, 293}, {305, 307}, {318, 321}, {397, 433},
    {442, 442}, {477, 478}, {514, 515}, {652, 653}, {776, 779}, {796, 799},
};
inline constexpr Functions kRuntimeFunctions[] = {
    {31, 52},   {142, 145}, {160, 163}, {211, 211}, {214, 236}, {243, 246}, {249, 250},
    {269, 270}, {311, 312}, {430, 431}, {482, 485}, {505, 506}, {509, 512},
};

using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using CompleteBuffer = void (*)(CUctx_st* context, std::uint32_t stream, std::uint8_t* buffer,
                                std::size_t bytes, std::size_t used);
using Subscribe = Status (*)(void** subscriber, void* callback, void* data);
using RegisterCallbacks = Status (*)(RequestBuffer request, CompleteBuffer complete);

struct Api {
    Subscribe subscribe = nullptr;
    Status (*unsubscribe)(void* subscriber) = nullptr;
    RegisterCallbacks register_callbacks = nullptr;
    Status (*enable)(Kind kind) = nullptr;
    Status (*disable)(Kind kind) = nullptr;
    Status (*flush_all)(std::uint32_t flags) = nullptr;
    Status (*next_record)(std::uint8_t* buffer, std::size_t used, Record** record) = nullptr;
    Status (*dropped)(CUctx_st* context, std::uint32_t stream, std::size_t* count) = nullptr;
    Status (*result_string)(Status status, const char** text) = nullptr;
    Status (*version)(std::uint32_t* version) = nullptr;  // may be null
    // Null before CUDA 12.2 or so. Then all functions are recorded.
    Status (*enable_driver_function)(std::uint32_t function, std::uint8_t enable) = nullptr;
    Status (*enable_runtime_function)(std::uint32_t function, std::uint8_t enable) = nullptr;
};

/// Returns true if a launch by the runtime has one correlation number with the driver's launch inside it.
/// Then the functions of the driver are enough.
bool has_common_correlation(const Api& api);

/// Returns the functions of the CUPTI that the program has loaded. If there is none, loads the one of torch
/// or of the toolkit. Returns null if no usable CUPTI is found.
const Api* find_api();

}  // namespace aoti_dbg::cupti
