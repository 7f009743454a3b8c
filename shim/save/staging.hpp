// A bounded buffer for tensor bytes that wait to be written. Pieces are taken and given back in any order, so
// a long-held piece does not block the rest. When the buffer is full, threads wait in a queue as long as
// others make progress. A forked child does not inherit the memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace aoti_dbg {

class Staging {
  public:
    /// Returns null if the memory cannot be mapped. The object must not be freed while a piece is in use.
    static std::unique_ptr<Staging> make(std::uint64_t bytes);
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    /// Returns the whole buffer.
    [[nodiscard]] std::span<std::byte> memory() const {
        return {memory_, static_cast<std::size_t>(capacity_)};
    }

    struct Piece {
        std::span<std::byte> bytes;  // empty if there was no room
        void* slot = nullptr;        // for give_back()
    };
    /// The most bytes of a piece. The limit lets writing continue while the rest is copied.
    [[nodiscard]] std::uint64_t most() const { return capacity_ / 8; }
    /// Takes room for 1 to most() bytes. If there is none, or others already wait, it waits in the queue. It
    /// gives up after `patience_ms` without any give_back(). After such a timeout, later calls do not wait
    /// until the next give_back().
    Piece take(std::uint64_t bytes, std::uint32_t patience_ms);
    /// You may call this from any thread. The piece's bytes must not be used afterwards.
    static void give_back(void* slot);
    /// Refuses all further requests. When the last piece is given back, the memory returns to the system.
    void retire();

  private:
    struct Slot {
        Staging* staging = nullptr;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    struct Range {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    Staging(std::byte* memory, std::uint64_t bytes)
        : memory_(memory), capacity_(bytes), free_{Range{0, bytes}} {}
    bool take_room(std::uint64_t bytes, std::uint64_t& begin);
    void give_back_room(const Slot& slot);
    bool wait_in_queue(std::unique_lock<std::mutex>& lock, std::uint64_t bytes, std::uint32_t patience_ms,
                       std::uint64_t& begin);
    void empty_if_retired();

    std::byte* memory_;
    std::uint64_t capacity_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Range> free_;            // sorted, with adjacent ranges merged
    std::deque<std::uint64_t> waiting_;  // waiting threads in order
    std::uint64_t last_waiting_ = 0;
    std::uint64_t times_given_back_ = 0;
    std::uint64_t waited_in_vain_at_ = ~std::uint64_t{0};  // value of times_given_back_ at the last timeout
    bool is_retired_ = false;
    std::deque<Slot> slots_;  // all that were ever needed
    std::vector<Slot*> unused_;
};

}  // namespace aoti_dbg
