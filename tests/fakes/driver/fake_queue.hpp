// The work of one stream: tasks run one after another, on the stream's worker thread or, with
// FAKE_CUDA_INLINE=1, in the submitting thread. It must not use handles, because it outlives its stream while
// events or other queues refer to it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fake_cuda {

struct LaunchShape {
    unsigned int grid[3];
    unsigned int block[3];
    unsigned int shared;
};

using HostKernel = bool (*)(const std::byte* const* parameters, const LaunchShape& shape);

/// One kernel with the parameter values of its launch. run() returns false on a fault.
struct KernelTask {
    std::string name;
    HostKernel kernel = nullptr;
    LaunchShape shape{};
    std::vector<std::byte> values;
    std::vector<std::uint32_t> offsets;
    bool faults = false;  // requested by FAKE_CUDA_FAIL_AT

    [[nodiscard]] bool run() const;
};

struct Context;

class Queue : public std::enable_shared_from_this<Queue> {
  public:
    using Task = std::function<void()>;

    explicit Queue(Context* context) : context_(context) {}

    /// Waits while the queue is as long as the real driver's. Returns the task's ticket.
    std::uint64_t submit(Task task);
    /// Blocks the queue, not the caller, until `other` has completed its work up to `ticket`.
    void submit_wait(const std::shared_ptr<Queue>& other, std::uint64_t ticket);

    [[nodiscard]] std::uint64_t last_ticket();
    [[nodiscard]] bool is_done(std::uint64_t ticket);
    void wait(std::uint64_t ticket);
    void wait_all() { wait(last_ticket()); }
    /// Starts no waiting task until release(). A running task continues.
    void hold();
    void release();
    [[nodiscard]] bool is_held();
    /// Drops the tasks of a failed context that have not started, and releases their waiters.
    void abandon();
    /// Completes the remaining tasks and ends the worker.
    void stop();
    [[nodiscard]] Context* context() const { return context_; }

  private:
    void work();
    void start_worker();

    Context* const context_;
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::condition_variable progress_;
    std::deque<Task> tasks_;
    std::uint64_t submitted_ = 0;
    std::uint64_t completed_ = 0;
    bool worker_runs_ = false;
    bool worker_sleeps_ = false;
    bool is_running_ = false;
    bool stops_ = false;
    bool held_ = false;
};

/// Whether FAKE_CUDA_INLINE=1 is set.
bool runs_inline();

}  // namespace fake_cuda
