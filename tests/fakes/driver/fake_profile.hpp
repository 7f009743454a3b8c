// What the software driver reports to a profiler: which calls submitted work, and when the work ran. Nothing
// is measured unless a profiler listens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fake_cuda {

/// One call that submits work, from here to the end of the scope.
class ProfiledCall {
  public:
    explicit ProfiledCall(std::uint32_t function);
    ~ProfiledCall();
    ProfiledCall(const ProfiledCall&) = delete;
    ProfiledCall& operator=(const ProfiledCall&) = delete;

  private:
    std::uint32_t function_;
    std::uint32_t before_ = 0;
    std::uint64_t start_ = 0;
};

/// Gives a task the correlation number of the call that submits it.
std::function<void()> correlated(std::function<void()> task);

/// One kernel that runs, from here to the end of the scope.
class ProfiledKernel {
  public:
    explicit ProfiledKernel(const std::string& name);
    ~ProfiledKernel();
    ProfiledKernel(const ProfiledKernel&) = delete;
    ProfiledKernel& operator=(const ProfiledKernel&) = delete;

  private:
    const std::string& name_;
    std::uint64_t start_ = 0;
};

}  // namespace fake_cuda
