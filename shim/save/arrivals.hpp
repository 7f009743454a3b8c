// Pieces of tensors on their way from devices: who launched what brings them puts them here, a thread of ours
// sees them arrive and hands them to the writers, those of a stream in order. A stream that is stuck holds up
// no other. Belongs to the session: a fork's child has another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "shim/runtime/stream_key.hpp"
#include "shim/save/saving_gpu.hpp"
#include "shim/save/tensor_writers.hpp"
#include "stats_kernels/save_job.hpp"

namespace aoti_dbg {

/// What its pieces have in common.
struct ArrivingTensor {
    SavingJob* job = nullptr;
    std::uint64_t bytes = 0;   // of all pieces
    std::uint64_t before = 0;  // what its storage has in front of it, which is not its own
    BytesHash hash;
    bool is_lost = false;
};

struct ArrivingPiece {
    std::shared_ptr<ArrivingTensor> tensor;
    SavingGpu* gpu = nullptr;
    StreamKey stream;
    void* slot = nullptr;  // of staging; null: nothing comes
    const ResultLine* lines = nullptr;
    std::uint32_t blocks = 0;
    std::uint32_t sequence = 0;
    std::span<std::byte> bytes;  // empty: only the hash comes
    bool tells_hash = false;     // of the whole tensor
    bool is_last = false;
    bool is_refused = false;  // it does not come, nor does the tensor
    Arrived arrived;
};

class Arrivals {
  public:
    explicit Arrivals(TensorWriters& writers) : writers_(writers) {}

    /// Makes the thread, at the first call; false where there can be none, which is said.
    bool start();
    void put(std::span<const ArrivingPiece> pieces);

    /// Waits until all that was put before is handed on; false where nothing comes for so long. Allocates
    /// nothing and waits for no lock without a deadline, as what follows.
    bool drain(std::uint64_t patience_ns) const;
    /// A device that was given up is not asked any more then.
    void wait_for_questions();
    /// The end: the same, and what does not come within a short time is given up.
    void finish();

  private:
    struct Lane {
        StreamKey stream;
        std::deque<ArrivingPiece> pieces;
        std::uint64_t waiting_since = 0;  // for the first of them; 0: nobody has looked
        std::uint64_t asked_at = 0;       // the device, whether it comes at all
    };
    static void* run_thread(void* arrivals);
    void work();
    void take_in(std::vector<ArrivingPiece>& taken);
    Lane& lane_of(const StreamKey& stream);
    bool serve(Lane& lane);
    enum class Prospect : std::uint8_t { comes, none, unknown };
    Prospect prospect(Lane& lane);
    void hand_on(const ArrivingPiece& piece, bool has_come, bool is_over);

    void tell(const ArrivingTensor& tensor, const ArrivingPiece& piece, const TensorChunk& chunk);

    TensorWriters& writers_;
    std::mutex mutex_;
    std::condition_variable there_;
    std::vector<ArrivingPiece> inbox_;
    bool has_thread_ = false;
    bool is_refused_ = false;
    std::mutex asking_;  // the device

    std::vector<Lane> lanes_;  // the thread's own
    std::atomic<std::uint64_t> put_{0};
    std::atomic<std::uint64_t> handed_on_{0};
    std::atomic<std::uint64_t> ending_since_{0};  // 0: it goes on
};

}  // namespace aoti_dbg
