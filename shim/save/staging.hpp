// Memory in which tensors' bytes wait until they are written: pieces of it are taken and given back in any
// order, so that one that is out for long keeps nobody from the rest. Bounded whatever the model; who finds
// it full waits in a queue as long as others make progress. Not inherited by a fork's child.
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
    /// Null where there is no such memory. Never freed while a piece is out.
    static std::unique_ptr<Staging> make(std::uint64_t bytes);
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    /// All of it.
    [[nodiscard]] std::span<std::byte> memory() const {
        return {memory_, static_cast<std::size_t>(capacity_)};
    }

    struct Piece {
        std::span<std::byte> bytes;  // empty: there was no room
        void* slot = nullptr;        // for give_back()
    };
    /// More is never taken at once: so that writing goes on while the rest is copied.
    [[nodiscard]] std::uint64_t most() const { return capacity_ / 8; }
    /// Room for 1 to most() bytes. Without any, or while others wait for theirs, it waits, but no longer than
    /// `patience_ms` in which nothing is given back; and once somebody has waited so long, nobody waits until
    /// something is.
    Piece take(std::uint64_t bytes, std::uint32_t patience_ms);
    /// From any thread; the piece's bytes must not be used any more.
    static void give_back(void* slot);
    /// Nobody takes any more: when the last piece is given back the memory is the system's again.
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
    std::vector<Range> free_;            // in order, none next to another
    std::deque<std::uint64_t> waiting_;  // who waits, in order
    std::uint64_t last_waiting_ = 0;
    std::uint64_t times_given_back_ = 0;
    std::uint64_t waited_in_vain_at_ = ~std::uint64_t{0};  // so many times it had been given back then
    bool is_retired_ = false;
    std::deque<Slot> slots_;  // all that were ever needed
    std::vector<Slot*> unused_;
};

}  // namespace aoti_dbg
