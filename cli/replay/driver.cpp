// See driver.hpp. The command must not include cuda.h, so this file declares driver handles as pointers, and
// results and devices as integers.
#include "cli/replay/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace aoti_dbg::cli {
namespace {

// Attributes, from cuda.h.
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kMostDynamicShared = 8;
constexpr int kClusterDimension = 4;
constexpr int kCooperative = 2;
/// A function may use this much shared memory without asking.
constexpr std::uint32_t kPlainShared = 48 * 1024;

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

}  // namespace

struct Driver::Functions {
    int (*init)(unsigned flags);
    int (*device_get)(int* device, int ordinal);
    int (*device_name)(char* name, int bytes, int device);
    int (*device_attribute)(int* value, int attribute, int device);
    int (*retain)(void** context, int device);
    int (*set_current)(void* context);
    int (*load)(void** module, const void* image);
    int (*get_function)(void** function, void* module, const char* name);
    int (*set_attribute)(void* function, int attribute, int value);
    int (*allocate)(std::uint64_t* address, std::size_t bytes);
    int (*release)(std::uint64_t address);
    int (*clear)(std::uint64_t address, unsigned char value, std::size_t bytes);
    int (*write)(std::uint64_t to, const void* from, std::size_t bytes);
    int (*read)(void* to, std::uint64_t from, std::size_t bytes);
    int (*launch)(const LaunchConfig* config, void* function, void** parameters, void** extra);
    int (*synchronize)();
    int (*error_name)(int result, const char** name);
    int (*error_text)(int result, const char** text);
};

namespace {

/// Returns the name of a function that the driver lacks, or null.
template <typename Functions>
const char* find_all(void* library, Functions& to) {
    const char* missing = nullptr;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        if (function == nullptr) missing = name;
    };
    find(to.init, "cuInit");
    find(to.device_get, "cuDeviceGet");
    find(to.device_name, "cuDeviceGetName");
    find(to.device_attribute, "cuDeviceGetAttribute");
    find(to.retain, "cuDevicePrimaryCtxRetain");
    find(to.set_current, "cuCtxSetCurrent");
    find(to.load, "cuModuleLoadData");
    find(to.get_function, "cuModuleGetFunction");
    find(to.set_attribute, "cuFuncSetAttribute");
    find(to.allocate, "cuMemAlloc_v2");
    find(to.release, "cuMemFree_v2");
    find(to.clear, "cuMemsetD8_v2");
    find(to.write, "cuMemcpyHtoD_v2");
    find(to.read, "cuMemcpyDtoH_v2");
    find(to.launch, "cuLaunchKernelEx");
    find(to.synchronize, "cuCtxSynchronize");
    find(to.error_name, "cuGetErrorName");
    find(to.error_text, "cuGetErrorString");
    return missing;
}

}  // namespace

Driver::Driver(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
Driver::~Driver() = default;

Result<std::unique_ptr<Driver>> Driver::open() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return Status::error("cannot load libcuda.so.1: this machine has no NVIDIA driver");
    auto functions = std::make_unique<Functions>();
    if (const char* const missing = find_all(library, *functions); missing != nullptr)
        return Status::error(std::string("the driver has no ") + missing + ". Install a newer driver");
    std::unique_ptr<Driver> driver(new Driver(std::move(functions)));
    Status begun = driver->begin();
    if (!begun.ok()) return begun;
    return driver;
}

Status Driver::failure(const char* what, int result) const {
    const char* name = nullptr;
    const char* text = nullptr;
    functions_->error_name(result, &name);
    functions_->error_text(result, &text);
    if (name == nullptr)
        return Status::error(std::string(what) + ": error " + std::to_string(result), result);
    return Status::error(std::string(what) + ": " + (text == nullptr ? name : text) + " (" + name + ")",
                         result);
}

Status Driver::begin() {
    int device = 0;
    int major = 0;
    int minor = 0;
    void* context = nullptr;
    std::array<char, 256> name{};
    int result = functions_->init(0);
    if (result == 0) result = functions_->device_get(&device, 0);
    if (result == 0) result = functions_->device_name(name.data(), name.size() - 1, device);
    if (result == 0) result = functions_->device_attribute(&major, kCapabilityMajor, device);
    if (result == 0) result = functions_->device_attribute(&minor, kCapabilityMinor, device);
    if (result == 0) result = functions_->retain(&context, device);
    if (result == 0) result = functions_->set_current(context);
    if (result != 0) return failure("cannot use the GPU", result);
    device_ = name.data();
    capability_ = static_cast<std::uint32_t>(major * 10 + minor);
    return {};
}

Status Driver::load(const std::string& image, const LaunchRecord& launch) {
    void* module = nullptr;
    int result = functions_->load(&module, image.c_str());
    if (result != 0) return failure("cannot load the kernel's code", result);
    result = functions_->get_function(&function_, module, launch.function.c_str());
    if (result != 0) return failure("cannot find the kernel in its code", result);
    if (launch.shared_bytes > kPlainShared)
        result =
            functions_->set_attribute(function_, kMostDynamicShared, static_cast<int>(launch.shared_bytes));
    return result == 0 ? Status() : failure("cannot get enough shared memory", result);
}

Result<std::uint64_t> Driver::allocate(std::uint64_t bytes) {
    std::uint64_t address = 0;
    const int result = functions_->allocate(&address, bytes);
    if (result != 0) return failure("cannot allocate memory of the GPU", result);
    return address;
}

void Driver::release(std::uint64_t address) {
    functions_->release(address);
}

Status Driver::clear(std::uint64_t address, std::uint64_t bytes) {
    const int result = functions_->clear(address, 0, bytes);
    return result == 0 ? Status() : failure("cannot clear memory of the GPU", result);
}

Status Driver::write(std::uint64_t address, std::span<const std::byte> bytes) {
    const int result = functions_->write(address, bytes.data(), bytes.size());
    return result == 0 ? Status() : failure("cannot write memory of the GPU", result);
}

Status Driver::read(std::uint64_t address, std::span<std::byte> bytes) {
    const int result = functions_->read(bytes.data(), address, bytes.size());
    return result == 0 ? Status() : failure("cannot read memory of the GPU", result);
}

Status Driver::launch(const LaunchRecord& launch, void** parameters) {
    std::array<LaunchAttribute, 2> attributes;
    LaunchConfig config{launch.grid, launch.block, launch.shared_bytes, nullptr, attributes.data(), 0};
    if (launch.cluster[0] != 0) {
        LaunchAttribute& cluster = attributes[config.count++];
        cluster.id = kClusterDimension;
        std::copy(launch.cluster.begin(), launch.cluster.end(), cluster.value.begin());
    }
    if (launch.is_cooperative) {
        LaunchAttribute& cooperative = attributes[config.count++];
        cooperative.id = kCooperative;
        cooperative.value[0] = 1;
    }
    const int result = functions_->launch(&config, function_, parameters, nullptr);
    return result == 0 ? Status() : failure("cannot launch the kernel", result);
}

Status Driver::synchronize() {
    const int result = functions_->synchronize();
    return result == 0 ? Status() : failure("the kernel failed", result);
}

}  // namespace aoti_dbg::cli
