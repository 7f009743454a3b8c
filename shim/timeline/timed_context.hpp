// A CUDA context in which a marker follows each recorded launch: our kernel, and host memory for its times.
// Never freed, because threads and the device may use it. After setup it must not allocate, and it never
// waits for the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "serializer/timeline_jsonl.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/timeline/marker_ring.hpp"

namespace aoti_dbg {

class TimedContext {
  public:
    explicit TimedContext(CUcontext context) : context_(context) {}

    /// Call this once, with the context current. Returns null, or why launches here get no markers.
    const char* set_up(const DriverApi& api);

    [[nodiscard]] bool is_of(CUcontext context) const {
        return context_.load(std::memory_order_acquire) == context;
    }
    [[nodiscard]] int device() const { return device_; }

    /// Puts a marker on the stream, right after the launch. The context must be current.
    void mark(const DriverApi& api, CUstream stream, const MarkedLaunch& launch);
    /// The context is about to be destroyed. Another may get its handle.
    void end() { context_.store(nullptr, std::memory_order_release); }
    /// The same may be so.
    void may_end() { is_uncertain_.store(true, std::memory_order_release); }
    [[nodiscard]] bool is_uncertain() const { return is_uncertain_.load(std::memory_order_acquire); }
    /// Call this before the next launch if is_uncertain(). Returns false, and ends it, if the context was
    /// destroyed.
    bool survives(const DriverApi& api);
    /// A launch gets no marker.
    void lose_one() { lost_.fetch_add(1, std::memory_order_relaxed); }

    // The reading thread calls these.

    /// Takes the times that arrived. `now` is the host's clock. Returns how many there were.
    template <typename Clock>
    std::size_t read(Clock now) {
        if (ring_ == nullptr || !is_usable_.load(std::memory_order_acquire)) return 0;
        const std::size_t before = ended_.size();
        ring_->read([&](const MarkedLaunch& launch, std::uint64_t time) {
            const std::uint64_t seen = now();
            if (ended_.empty()) held_since_ = seen;
            clock_.observe(time, launch.begun, seen);
            ended_.push_back({launch, time});
        });
        return ended_.size() - before;
    }
    [[nodiscard]] bool has_unended() const {
        return is_usable_.load(std::memory_order_acquire) && ring_->unended() != 0;
    }
    /// Returns the launches without a time, if no more times arrive.
    [[nodiscard]] std::uint64_t lost_if_over() const;
    /// Appends the spans of the launches whose times arrived. At first, it holds them back for a moment,
    /// because better bounds of the clock are expected.
    void take_spans(bool at_once, std::uint64_t now, std::vector<DeviceSpan>& spans);

  private:
    struct Ended {
        MarkedLaunch launch;
        std::uint64_t time;  // of the device
    };
    // 512 KiB that the device can write to, and 3 MiB beside them.
    static constexpr std::size_t kLaunches = std::size_t{1} << 16U;

    const char* load(const DriverApi& api);
    const char* open_ring(const DriverApi& api);

    std::atomic<CUcontext> context_;
    CUdevice device_ = 0;
    CUfunction kernel_ = nullptr;
    void* memory_ = nullptr;  // of the words
    CUdeviceptr words_ = 0;   // the device's address of it
    std::unique_ptr<MarkerRing> ring_;
    std::atomic<bool> is_usable_{false};
    std::atomic<bool> has_failed_{false};
    std::atomic<bool> is_uncertain_{false};
    std::atomic<std::uint64_t> lost_{0};
    // The reading thread's own.
    DeviceClock clock_;
    StreamEnds ends_;
    std::vector<Ended> ended_;
    std::uint64_t held_since_ = 0;
    bool is_clock_good_ = false;
};

}  // namespace aoti_dbg
