// Memory in which tensors' bytes wait until they are written: a ring, taken in order and given back in any.
// Bounded whatever the model; who finds it full waits as long as others make progress. Not inherited by a
// fork's child.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

namespace aoti_dbg {

class Staging {
  public:
    /// Null where there is no such memory. Never freed while a piece is out.
    static std::unique_ptr<Staging> make(std::uint64_t bytes);
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    struct Piece {
        std::span<std::byte> bytes;  // empty: there was no room
        void* slot = nullptr;        // for give_back()
    };
    /// More is never taken at once: so that writing goes on while the rest is copied.
    [[nodiscard]] std::uint64_t most() const { return capacity_ / 8; }
    /// Room for 1 to most() bytes. Without any it waits until there is, but no longer than `patience_ms` in
    /// which nothing is given back.
    Piece take(std::uint64_t bytes, std::uint32_t patience_ms);
    /// From any thread; the piece's bytes must not be used any more.
    static void give_back(void* slot);

  private:
    struct Slot {
        Staging* staging = nullptr;
        std::uint64_t begin = 0;
        bool is_free = false;
    };
    Staging(std::byte* memory, std::uint64_t bytes) : memory_(memory), capacity_(bytes) {}
    bool find_room(std::uint64_t bytes, std::uint64_t& begin) const;

    std::byte* memory_;
    std::uint64_t capacity_;
    std::mutex mutex_;
    std::condition_variable given_back_;
    std::uint64_t times_given_back_ = 0;
    std::uint64_t end_ = 0;    // behind the piece that was taken last
    std::deque<Slot*> taken_;  // in order
    std::deque<Slot> slots_;   // all that were ever needed
    std::deque<Slot*> unused_;
};

}  // namespace aoti_dbg
