#include "cli/replay/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/clean_text.hpp"
#include "cli/replay/driver_functions.hpp"

namespace aoti_dbg::cli {
namespace {

// Attributes, from cuda.h.
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kMostDynamicShared = 8;
constexpr int kClusterDimension = 4;
constexpr int kCooperative = 2;
// Options of the compiler in the driver, from cuda.h.
constexpr int kErrorLog = 5;
constexpr int kErrorLogBytes = 6;
constexpr int kOptimizationLevel = 7;
/// A function may use this much shared memory without asking.
constexpr std::uint32_t kPlainShared = 48 * 1024;

void* as_pointer(std::uint64_t number) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}

}  // namespace

Driver::Driver(std::unique_ptr<DriverFunctions> functions) : functions_(std::move(functions)) {}
Driver::~Driver() = default;

Result<std::unique_ptr<Driver>> Driver::open() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return Status::error("cannot load libcuda.so.1: this machine has no NVIDIA driver");
    auto functions = std::make_unique<DriverFunctions>();
    if (const char* const missing = find_functions(library, *functions); missing != nullptr)
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
    int major = 0;
    int minor = 0;
    void* context = nullptr;
    std::size_t page = 0;
    MemoryProperties properties;
    std::array<char, 256> name{};
    int result = functions_->init(0);
    if (result == 0) result = functions_->device_get(&ordinal_, 0);
    if (result == 0) result = functions_->device_name(name.data(), name.size() - 1, ordinal_);
    if (result == 0) result = functions_->device_attribute(&major, kCapabilityMajor, ordinal_);
    if (result == 0) result = functions_->device_attribute(&minor, kCapabilityMinor, ordinal_);
    if (result == 0) result = functions_->retain(&context, ordinal_);
    if (result == 0) result = functions_->set_current(context);
    properties.location.device = ordinal_;
    if (result == 0) result = functions_->granularity(&page, &properties, 0);
    if (result != 0) return failure("cannot use the GPU", result);
    device_ = name.data();
    capability_ = static_cast<std::uint32_t>(major * 10 + minor);
    page_bytes_ = page;
    return {};
}

Status Driver::load(const std::string& image, const LaunchRecord& launch,
                    std::optional<std::uint32_t> level) {
    std::array<char, 4096> log{};
    std::array<int, 3> options = {kErrorLog, kErrorLogBytes, kOptimizationLevel};
    std::array<void*, 3> values = {log.data(), as_pointer(log.size() - 1), as_pointer(level.value_or(0))};
    if (module_ != nullptr) functions_->unload(module_);
    module_ = nullptr;
    int result = functions_->load(&module_, image.c_str(), level ? 3 : 2, options.data(), values.data());
    if (result != 0) {
        const Status failed = failure("cannot load the kernel's code", result);
        std::string_view said = log.data();
        while (!said.empty() && said.back() == '\n')
            said.remove_suffix(1);
        return said.empty() ? failed : Status::error(failed.message() + ": " + clean_text(said), result);
    }
    result = functions_->get_function(&function_, module_, launch.function.c_str());
    if (result != 0) return failure("cannot find the kernel in its code", result);
    if (launch.shared_bytes > kPlainShared)
        result =
            functions_->set_attribute(function_, kMostDynamicShared, static_cast<int>(launch.shared_bytes));
    return result == 0 ? check_parameters(launch) : failure("cannot get enough shared memory", result);
}

/// The driver would read behind the parameters of the launch.
Status Driver::check_parameters(const LaunchRecord& launch) const {
    if (functions_->parameter_info == nullptr) return {};
    std::size_t offset = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; functions_->parameter_info(function_, i, &offset, &bytes) == 0; ++i)
        if (i >= launch.parameters.size() || bytes > launch.parameters[i].bytes.size())
            return Status::error("the kernel in this code takes other parameters than the launch passes");
    return {};
}

Result<std::uint64_t> Driver::allocate(std::uint64_t bytes) {
    std::uint64_t address = 0;
    const int result = functions_->allocate(&address, bytes);
    if (result != 0) return failure("cannot allocate GPU memory", result);
    return address;
}

void Driver::release(std::uint64_t address) {
    functions_->release(address);
}

Result<std::uint64_t> Driver::reserve(std::uint64_t bytes, std::uint64_t requested) {
    std::uint64_t address = 0;
    const int result = functions_->reserve(&address, bytes, 0, requested, 0);
    if (result != 0) return failure("cannot reserve GPU addresses", result);
    if (requested == 0 || address == requested) return address;
    free_reserved(address, bytes);
    return Status::error("addresses of the capture are taken in this process");
}

void Driver::free_reserved(std::uint64_t address, std::uint64_t bytes) {
    functions_->free_reserved(address, bytes);
}

Status Driver::map(std::uint64_t address, std::uint64_t bytes) {
    MemoryProperties properties;
    properties.location.device = ordinal_;
    const MemoryAccessRights rights{properties.location};
    std::uint64_t handle = 0;
    int result = functions_->create(&handle, bytes, &properties, 0);
    if (result != 0) return failure("cannot allocate GPU memory", result);
    result = functions_->map(address, bytes, 0, handle, 0);
    // The mapping keeps the memory.
    functions_->release_created(handle);
    if (result != 0) return failure("cannot map GPU memory", result);
    result = functions_->set_access(address, bytes, &rights, 1);
    if (result == 0) return {};
    unmap(address, bytes);
    return failure("cannot get access to GPU memory", result);
}

void Driver::unmap(std::uint64_t address, std::uint64_t bytes) {
    functions_->unmap(address, bytes);
}

Status Driver::fill(std::uint64_t address, std::byte value, std::uint64_t bytes) {
    const int result = functions_->fill(address, static_cast<unsigned char>(value), bytes);
    return result == 0 ? Status() : failure("cannot fill GPU memory", result);
}

Status Driver::write(std::uint64_t address, std::span<const std::byte> bytes) {
    const int result = functions_->write(address, bytes.data(), bytes.size());
    return result == 0 ? Status() : failure("cannot write GPU memory", result);
}

Status Driver::read(std::uint64_t address, std::span<std::byte> bytes) {
    const int result = functions_->read(bytes.data(), address, bytes.size());
    return result == 0 ? Status() : failure("cannot read GPU memory", result);
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

Result<float> Driver::time(const LaunchRecord& launch, void** parameters, std::uint32_t count) {
    std::array<void*, 2> events{};
    float milliseconds = 0;
    for (void*& event : events)
        if (const int result = functions_->create_event(&event, 0); result != 0)
            return failure("cannot create an event", result);
    int result = functions_->record_event(events[0], nullptr);
    for (std::uint32_t i = 0; i < count && result == 0; ++i)
        if (Status launched = this->launch(launch, parameters); !launched.ok()) return launched;
    if (result == 0) result = functions_->record_event(events[1], nullptr);
    if (result != 0) return failure("cannot record an event", result);
    if (Status ended = synchronize(); !ended.ok()) return ended;
    result = functions_->elapsed(&milliseconds, events[0], events[1]);
    for (void* const event : events)
        functions_->destroy_event(event);
    if (result != 0) return failure("cannot measure the time of the kernel", result);
    return milliseconds;
}

Status Driver::synchronize() {
    const int result = functions_->synchronize();
    return result == 0 ? Status() : failure("the kernel failed", result);
}

}  // namespace aoti_dbg::cli
