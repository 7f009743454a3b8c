// When each recorded call of a thread ran, so that the call that submitted device work can be found. The
// thread writes, and another thread searches. Writing must not lock, allocate or make a system call. Old
// calls are overwritten.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace aoti_dbg {

class CallTimes {
  public:
    static constexpr std::uint64_t kCapacity = std::uint64_t{1} << 17U;

    /// Returns null if memory runs out. `thread` is the low half of pthread_self().
    static std::unique_ptr<CallTimes> create(std::uint32_t thread);
    ~CallTimes();
    CallTimes(const CallTimes&) = delete;
    CallTimes& operator=(const CallTimes&) = delete;

    // The thread itself calls these, at the start and the end of each call. All times are of one clock.
    void begin(std::uint64_t now, std::uint64_t seq);
    void end(std::uint64_t now);

    /// Returns the number of the innermost call that ran at some time from `start` to `end`. Returns 0 if
    /// there was none, or if it is overwritten.
    [[nodiscard]] std::uint64_t find(std::uint64_t start, std::uint64_t end) const;

    [[nodiscard]] std::uint32_t thread() const { return thread_.load(std::memory_order_relaxed); }

    /// Call this when the thread has ended. A later thread may take over the log with reuse().
    void retire(std::uint64_t now) { retired_.store(now, std::memory_order_release); }
    /// Returns true if the thread ended before that time.
    [[nodiscard]] bool is_retired_since(std::uint64_t time) const;
    void reuse(std::uint32_t thread);

  private:
    using Word = std::atomic<std::uint64_t>;
    struct Entry {
        Word begin;
        Word end;  // kOpen while the call runs
        Word seq;
        Word parent;  // position of the call around it, or kNone
    };
    static constexpr std::uint64_t kNone = UINT64_MAX;
    static constexpr std::uint64_t kOpen = UINT64_MAX;

    CallTimes(std::uint32_t thread, Entry* entries) : thread_(thread), entries_(entries) {}
    [[nodiscard]] Entry& at(std::uint64_t position) const { return entries_[position % kCapacity]; }
    [[nodiscard]] bool is_kept(std::uint64_t position) const;
    [[nodiscard]] std::uint64_t last_begun_by(std::uint64_t time) const;

    std::atomic<std::uint32_t> thread_;
    Entry* entries_;
    Word retired_{0};             // 0: the thread lives
    std::uint64_t open_ = kNone;  // the innermost call that runs
    Word count_{0};
};

}  // namespace aoti_dbg
