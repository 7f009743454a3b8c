// Records when kernels ended, without CUPTI: a kernel of ours follows each recorded launch on its stream and
// sends the device's time to host memory. A thread of ours reads the times. It calls no driver function, so
// it never waits for the device. In a forked child, nothing is recorded.
#pragma once

#include <semaphore.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "shim/timeline/timed_context.hpp"
#include "shim/timeline/timeline_output.hpp"

namespace aoti_dbg {

class MarkerRecorder {
  public:
    /// `output` must outlive this object, which is never freed.
    explicit MarkerRecorder(TimelineOutput& output);

    /// Returns false if no thread can be started.
    bool start();

    /// Call this before the calling thread launches. It sets up the thread's context the first time.
    void prepare();
    /// Call this after a successful launch of the calling thread.
    void mark(CUstream stream, MarkedLaunch launch);

    // Call these before a context is, or may be, destroyed.
    void end_context(CUcontext context);
    void end_contexts_of(int device);
    void context_may_end(int device);

    /// Writes what has ended, closes the output, and returns within two seconds. Allocates nothing.
    void finish();

  private:
    // Launches in further contexts get no markers.
    static constexpr std::size_t kMostContexts = 16;

    static void* run_thread(void* recorder);
    void run();
    void read_until_over();
    void read_rest();
    /// Returns the number of times that arrived.
    std::size_t read(bool is_over);
    [[nodiscard]] bool has_unended() const;
    [[nodiscard]] TimedContext* find(CUcontext context) const;
    void set_up(const DriverApi& api, CUcontext context);
    template <typename Do>
    void for_contexts(Do action) const;

    TimelineOutput& output_;
    const pid_t process_;
    bool has_thread_ = false;
    std::atomic<bool> is_over_{false};
    sem_t finish_{};
    sem_t finished_{};
    std::mutex mutex_;  // for setting up a context
    std::atomic<bool> is_full_{false};
    std::array<std::atomic<TimedContext*>, kMostContexts> contexts_{};
    std::atomic<std::uint64_t> lost_{0};  // launches in no such context
    std::vector<DeviceSpan> spans_;       // the reading thread's own
};

}  // namespace aoti_dbg
