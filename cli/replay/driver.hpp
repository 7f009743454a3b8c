// The part of the CUDA driver that a replay needs. It loads libcuda.so.1 when it is first used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "serializer/launch_record.hpp"

namespace aoti_dbg::cli {

struct DriverFunctions;

class Driver {
  public:
    /// Uses the first device that the process sees, with its primary context.
    static Result<std::unique_ptr<Driver>> open();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    ~Driver();

    [[nodiscard]] const std::string& device() const { return device_; }
    /// 90 is 9.0.
    [[nodiscard]] std::uint32_t compute_capability() const { return capability_; }

    /// Loads the launch's code and finds its function, and unloads that of the launch before. The driver
    /// compiles PTX with this optimization level, 0 to 4. Fails if the function takes more than the launch
    /// passes.
    Status load(const std::string& image, const LaunchRecord& launch, std::optional<std::uint32_t> level);

    Result<std::uint64_t> allocate(std::uint64_t bytes);
    /// Does nothing after a fault. So do all functions below that return void.
    void release(std::uint64_t address);

    /// Addresses and sizes of mapped memory are multiples of it.
    [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }
    /// Reserves addresses without memory. Fails if `requested` is taken. 0 requests any address.
    Result<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t requested);
    void free_reserved(std::uint64_t address, std::uint64_t bytes);
    /// Maps memory to reserved addresses.
    Status map(std::uint64_t address, std::uint64_t bytes);
    void unmap(std::uint64_t address, std::uint64_t bytes);

    Status fill(std::uint64_t address, std::byte value, std::uint64_t bytes);
    Status write(std::uint64_t address, std::span<const std::byte> bytes);
    Status read(std::uint64_t address, std::span<std::byte> bytes);

    /// Launches the loaded function. `parameters` has the address of each.
    Status launch(const LaunchRecord& launch, void** parameters);
    /// Launches it `count` times, and returns how many milliseconds the GPU took for all of them.
    Result<float> time(const LaunchRecord& launch, void** parameters, std::uint32_t count);
    /// Fails if the kernel faulted.
    Status synchronize();

  private:
    explicit Driver(std::unique_ptr<DriverFunctions> functions);
    Status begin();
    [[nodiscard]] Status check_parameters(const LaunchRecord& launch) const;
    [[nodiscard]] Status failure(const char* what, int result) const;

    std::unique_ptr<DriverFunctions> functions_;
    std::string device_;
    int ordinal_ = 0;
    std::uint32_t capability_ = 0;
    std::uint64_t page_bytes_ = 0;
    void* module_ = nullptr;
    void* function_ = nullptr;
};

}  // namespace aoti_dbg::cli
