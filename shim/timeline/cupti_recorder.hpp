// Records the device's work with CUPTI. CUPTI has one set of callbacks in a process, so there is at most one
// recorder. It starts only if nothing else uses CUPTI, and gives way when another profiler starts.
// It must not wait for the device. In a forked child, CUPTI must not be called.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "shim/timeline/cupti_api.hpp"
#include "shim/timeline/timeline_output.hpp"

namespace aoti_dbg {

/// Why there is no timeline, and what to do about that. Without a reason, there is one.
struct Obstacle {
    const char* why = nullptr;
    const char* remedy = nullptr;
};

class CuptiRecorder {
  public:
    /// Returns why CUPTI cannot be used, if so. `api` may be null.
    static Obstacle obstacle(const cupti::Api* api);

    /// `output` must outlive this object, which is never freed.
    CuptiRecorder(const cupti::Api& api, TimelineOutput& output);

    /// Returns why it did not start, if so.
    Obstacle start();

    /// Delivers what has ended, closes the output, and returns within two seconds. Allocates nothing.
    void finish();

    /// Another profiler is about to use CUPTI.
    void give_way();

    // CUPTI calls these.
    void request(std::uint8_t** buffer, std::size_t* bytes);
    void complete(CUctx_st* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t used);

  private:
    struct Buffer {
        std::atomic<std::uint8_t*> memory{nullptr};
        std::atomic<bool> is_used{false};
    };
    static constexpr std::size_t kBufferBytes = std::size_t{512} << 10U;
    static constexpr std::size_t kBuffers = 64;

    static void* run_thread(void* recorder);
    void run();
    [[nodiscard]] cupti::Status enable() const;
    void disable() const;

    const cupti::Api& api_;
    TimelineOutput& output_;
    std::mutex mutex_;  // held while CUPTI is asked to flush or to stop
    bool is_on_ = false;
    bool has_thread_ = false;
    sem_t finish_{};
    sem_t finished_{};
    std::array<Buffer, kBuffers> buffers_;
};

}  // namespace aoti_dbg
