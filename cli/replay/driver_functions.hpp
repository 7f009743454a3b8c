// The functions of libcuda.so.1 that a replay calls, with its own types. The command must not include cuda.h,
// so handles are pointers, and results and devices are integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace aoti_dbg::cli {

struct LaunchAttribute {
    int id = 0;
    int unused = 0;
    std::array<std::uint32_t, 16> value{};
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
    std::array<std::uint32_t, 3> grid{};
    std::array<std::uint32_t, 3> block{};
    std::uint32_t shared_bytes = 0;
    void* stream = nullptr;
    LaunchAttribute* attributes = nullptr;
    std::uint32_t count = 0;
};
static_assert(sizeof(LaunchConfig) == 56);

struct MemoryLocation {
    int type = 1;  // a device
    int device = 0;
};

/// Memory of a device.
struct MemoryProperties {
    int type = 1;  // pinned
    int handle_types = 0;
    MemoryLocation location;
    void* unused = nullptr;
    std::array<unsigned char, 8> flags{};
};
static_assert(sizeof(MemoryProperties) == 32);

struct MemoryAccessRights {
    MemoryLocation location;
    int rights = 3;  // read and write
};
static_assert(sizeof(MemoryAccessRights) == 12);

struct DriverFunctions {
    int (*init)(unsigned flags);
    int (*device_get)(int* device, int ordinal);
    int (*device_name)(char* name, int bytes, int device);
    int (*device_attribute)(int* value, int attribute, int device);
    int (*retain)(void** context, int device);
    int (*set_current)(void* context);
    int (*load)(void** module, const void* image, unsigned count, int* options, void** values);
    int (*unload)(void* module);
    int (*get_function)(void** function, void* module, const char* name);
    /// Null in a driver before CUDA 12.4.
    int (*parameter_info)(void* function, std::size_t index, std::size_t* offset, std::size_t* bytes);
    int (*set_attribute)(void* function, int attribute, int value);
    int (*allocate)(std::uint64_t* address, std::size_t bytes);
    int (*release)(std::uint64_t address);
    int (*granularity)(std::size_t* bytes, const MemoryProperties* properties, int option);
    int (*reserve)(std::uint64_t* address, std::size_t bytes, std::size_t alignment, std::uint64_t requested,
                   unsigned long long flags);
    int (*free_reserved)(std::uint64_t address, std::size_t bytes);
    int (*create)(std::uint64_t* handle, std::size_t bytes, const MemoryProperties* properties,
                  unsigned long long flags);
    int (*release_created)(std::uint64_t handle);
    int (*map)(std::uint64_t address, std::size_t bytes, std::size_t offset, std::uint64_t handle,
               unsigned long long flags);
    int (*unmap)(std::uint64_t address, std::size_t bytes);
    int (*set_access)(std::uint64_t address, std::size_t bytes, const MemoryAccessRights* rights,
                      std::size_t count);
    int (*fill)(std::uint64_t address, unsigned char value, std::size_t bytes);
    int (*write)(std::uint64_t to, const void* from, std::size_t bytes);
    int (*read)(void* to, std::uint64_t from, std::size_t bytes);
    int (*launch)(const LaunchConfig* config, void* function, void** parameters, void** extra);
    int (*synchronize)();
    int (*create_event)(void** event, unsigned flags);
    int (*record_event)(void* event, void* stream);
    int (*destroy_event)(void* event);
    int (*elapsed)(float* milliseconds, void* begin, void* end);
    int (*error_name)(int result, const char** name);
    int (*error_text)(int result, const char** text);
};

/// Returns the name of a function that the driver lacks, or null.
const char* find_functions(void* library, DriverFunctions& to);

}  // namespace aoti_dbg::cli
