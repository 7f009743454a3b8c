#include "tests/fakes/driver/fake_profile.hpp"

#include <pthread.h>

#include <atomic>
#include <ctime>

#include "tests/fakes/driver/fake_cuda_control.h"
#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

std::atomic<const fake_cuda_profiler*> g_profiler{nullptr};
std::atomic<std::uint32_t> g_correlation{0};
thread_local std::uint32_t t_correlation = 0;

std::uint64_t unix_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U + static_cast<std::uint64_t>(now.tv_nsec);
}

const fake_cuda_profiler* profiler() {
    return g_profiler.load(std::memory_order_acquire);
}

}  // namespace

ProfiledCall::ProfiledCall(std::uint32_t function) : function_(function) {
    if (profiler() == nullptr) return;
    before_ = t_correlation;
    t_correlation = ++g_correlation;
    start_ = unix_ns();
}

ProfiledCall::~ProfiledCall() {
    if (start_ == 0) return;
    if (const fake_cuda_profiler* const now = profiler(); now != nullptr)
        now->called(function_, t_correlation, static_cast<std::uint32_t>(pthread_self()), start_, unix_ns());
    t_correlation = before_;
}

std::function<void()> correlated(std::function<void()> task) {
    if (profiler() == nullptr) return task;
    return [correlation = t_correlation, task = std::move(task)] {
        const std::uint32_t before = t_correlation;
        t_correlation = correlation;
        task();
        t_correlation = before;
    };
}

ProfiledKernel::ProfiledKernel(const std::string& name) : name_(name) {
    if (profiler() != nullptr) start_ = unix_ns();
}

ProfiledKernel::~ProfiledKernel() {
    if (const fake_cuda_profiler* const now = profiler(); now != nullptr && start_ != 0)
        now->ran(name_.c_str(), t_correlation, start_, unix_ns());
}

}  // namespace fake_cuda

FAKE_API void fake_cuda_profile(const fake_cuda_profiler* profiler) {
    fake_cuda::g_profiler = profiler;
}
