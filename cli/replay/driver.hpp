// The part of the CUDA driver that a replay needs. It loads libcuda.so.1 when it is first used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "serializer/launch_record.hpp"

namespace aoti_dbg::cli {

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

    /// Loads the launch's code and finds its function.
    Status load(const std::string& image, const LaunchRecord& launch);

    Result<std::uint64_t> allocate(std::uint64_t bytes);
    /// Does nothing after a fault.
    void release(std::uint64_t address);
    Status clear(std::uint64_t address, std::uint64_t bytes);
    Status write(std::uint64_t address, std::span<const std::byte> bytes);
    Status read(std::uint64_t address, std::span<std::byte> bytes);

    /// Launches the loaded function. `parameters` has the address of each.
    Status launch(const LaunchRecord& launch, void** parameters);
    /// Fails if the kernel faulted.
    Status synchronize();

  private:
    struct Functions;
    explicit Driver(std::unique_ptr<Functions> functions);
    Status begin();
    [[nodiscard]] Status failure(const char* what, int result) const;

    std::unique_ptr<Functions> functions_;
    std::string device_;
    std::uint32_t capability_ = 0;
    void* function_ = nullptr;
};

}  // namespace aoti_dbg::cli
