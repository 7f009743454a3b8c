// Tracks pieces of tensors that a kernel is copying from a device. The launching thread adds them. A thread
// of ours sees them arrive and passes them to the writers, in order within a stream. A blocked stream must
// not delay another. Belongs to the session: a forked child has its own.
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

/// The state that all pieces of a tensor share.
struct ArrivingTensor {
    SavingJob* job = nullptr;
    std::uint64_t bytes = 0;   // of all pieces
    std::uint64_t before = 0;  // bytes of the storage before the tensor
    BytesHash hash;
    bool is_lost = false;
};

struct ArrivingPiece {
    std::shared_ptr<ArrivingTensor> tensor;
    SavingGpu* gpu = nullptr;
    StreamKey stream;
    void* slot = nullptr;  // in staging, null if nothing arrives
    const ResultLine* lines = nullptr;
    std::uint32_t blocks = 0;
    std::uint32_t sequence = 0;
    std::span<std::byte> bytes;  // empty if only the hash arrives
    bool has_hash = false;       // the hash covers the whole tensor
    bool is_last = false;
    bool is_refused = false;  // neither the piece nor its tensor arrives
    Arrived arrived;
};

class Arrivals {
  public:
    explicit Arrivals(TensorWriters& writers) : writers_(writers) {}

    /// Creates the thread at the first call. Prints a warning and returns false if that fails.
    bool start();
    void put(std::span<const ArrivingPiece> pieces);

    /// Waits until all earlier pieces are passed on. Returns false if nothing arrives within the patience.
    /// Allocates nothing and takes no lock without a deadline, like the two functions below.
    bool drain(std::uint64_t patience_ns) const;
    /// Waits for a query of the device that is in progress. After that, the thread no longer queries a device
    /// that was given up.
    void wait_for_questions();
    /// Drains at exit and gives up pieces that do not arrive within a short time.
    void finish();

  private:
    struct Lane {
        StreamKey stream;
        std::deque<ArrivingPiece> pieces;
        std::uint64_t waiting_since = 0;  // for the first piece, 0 until the first check
        std::uint64_t asked_at = 0;       // when the device was last queried
    };
    static void* run_thread(void* arrivals);
    void work();
    void take_in(std::vector<ArrivingPiece>& taken);
    Lane& lane_of(const StreamKey& stream);
    bool serve(Lane& lane);
    enum class Prospect : std::uint8_t { comes, none, unknown };
    Prospect prospect(Lane& lane);
    void hand_on(const ArrivingPiece& piece, bool has_come, bool is_over);

    void pass_facts(const ArrivingTensor& tensor, const ArrivingPiece& piece, const TensorChunk& chunk);

    TensorWriters& writers_;
    std::mutex mutex_;
    std::condition_variable there_;
    std::vector<ArrivingPiece> inbox_;
    bool has_thread_ = false;
    bool is_refused_ = false;
    std::mutex asking_;  // held while the thread queries the device

    std::vector<Lane> lanes_;  // used only by the thread
    std::atomic<std::uint64_t> put_{0};
    std::atomic<std::uint64_t> handed_on_{0};
    std::atomic<std::uint64_t> ending_since_{0};  // 0 until finish()
};

}  // namespace aoti_dbg
