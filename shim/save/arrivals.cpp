#include "shim/save/arrivals.hpp"

#include <algorithm>
#include <utility>

#include "base/message.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/own_thread.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

// The pause between two checks of pending pieces.
constexpr std::uint64_t kShortestPause = kMillisecond / 20;
constexpr std::uint64_t kLongestPause = kMillisecond;

// After this long the thread queries the device now and then whether it is done or dead. A kernel may well
// take that long.
constexpr std::uint64_t kArrivalPatience = 2'000 * kMillisecond;
constexpr std::uint64_t kBetweenQuestions = 100 * kMillisecond;

}  // namespace

bool Arrivals::start() {
    const std::lock_guard lock(mutex_);
    if (has_thread_ || is_refused_) return has_thread_;
    has_thread_ = start_own_thread(run_thread, this);
    is_refused_ = !has_thread_;
    if (is_refused_) {
        message(Severity::warn,
                "cannot create the thread that waits for the device. Tensors on it are not saved, and names "
                "are printed (level 3). Raise the thread limit (ulimit -u).");
    }
    return has_thread_;
}

void Arrivals::put(std::span<const ArrivingPiece> pieces) {
    const std::lock_guard lock(mutex_);
    inbox_.insert(inbox_.end(), pieces.begin(), pieces.end());
    put_.fetch_add(pieces.size(), std::memory_order_relaxed);
    there_.notify_one();
}

void* Arrivals::run_thread(void* arrivals) {
    name_own_thread();
    try {
        static_cast<Arrivals*>(arrivals)->work();
    } catch (...) {
        switch_off("out of memory while saving tensors");
    }
    return nullptr;
}

void Arrivals::work() {
    std::vector<ArrivingPiece> taken;
    std::uint64_t rest = kShortestPause;
    for (;;) {
        take_in(taken);
        bool goes_on = false;
        for (Lane& lane : lanes_)
            goes_on = serve(lane) || goes_on;
        std::erase_if(lanes_, [](const Lane& lane) { return lane.pieces.empty(); });
        rest = goes_on ? kShortestPause : std::min(rest + rest / 8, kLongestPause);
        if (!goes_on) nap(rest);
    }
}

/// Blocks only while no piece is pending.
void Arrivals::take_in(std::vector<ArrivingPiece>& taken) {
    taken.clear();
    {
        std::unique_lock lock(mutex_);
        if (lanes_.empty()) there_.wait(lock, [this] { return !inbox_.empty(); });
        std::swap(taken, inbox_);
    }
    for (const ArrivingPiece& piece : taken)
        lane_of(piece.stream).pieces.push_back(piece);
}

Arrivals::Lane& Arrivals::lane_of(const StreamKey& stream) {
    const auto known =
        std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return lane.stream == stream; });
    if (known != lanes_.end()) return *known;
    lanes_.emplace_back().stream = stream;
    return lanes_.back();
}

/// Returns whether any piece of the lane was passed on.
bool Arrivals::serve(Lane& lane) {
    const std::size_t before = lane.pieces.size();
    while (!lane.pieces.empty()) {
        ArrivingPiece& piece = lane.pieces.front();
        const auto look = [&piece] {
            return piece.slot != nullptr && !piece.is_refused &&
                   look_for_blocks(piece.lines, piece.blocks, piece.sequence, piece.arrived);
        };
        bool has_come = look();
        const Prospect left = has_come || piece.is_refused ? Prospect::none : prospect(lane);
        if (left == Prospect::comes) break;
        // The piece may have arrived during the query.
        if (!has_come) has_come = look();
        hand_on(piece, has_come, left == Prospect::none);
        lane.pieces.pop_front();
        if (has_come) lane.waiting_since = 0;
    }
    return lane.pieces.size() != before;
}

/// Judges the first piece, which has not arrived. `unknown` means that it will not arrive but the device may
/// still write it.
Arrivals::Prospect Arrivals::prospect(Lane& lane) {
    SavingGpu& gpu = *lane.pieces.front().gpu;
    const std::uint64_t ending_since = ending_since_.load(std::memory_order_relaxed);
    const std::uint64_t now = monotonic_nanoseconds();
    if (lane.waiting_since == 0) lane.waiting_since = now;
    const bool is_overdue = now >= std::max(lane.waiting_since, ending_since) + kArrivalPatience;
    // The driver may have shut down already.
    if (is_overdue && ending_since != 0) gpu.give_up();
    if (gpu.has_failed()) return Prospect::unknown;
    if (!is_overdue || now - lane.asked_at < kBetweenQuestions) return Prospect::comes;
    lane.asked_at = now;
    const std::lock_guard asking(asking_);
    if (gpu.has_failed() || ending_since_.load(std::memory_order_relaxed) != 0) return Prospect::comes;
    switch (state_of(gpu, lane.stream)) {
        case StreamState::busy:
            return Prospect::comes;
        case StreamState::done:
            return Prospect::none;
        case StreamState::lost:
            return Prospect::unknown;
    }
    return Prospect::comes;
}

void Arrivals::wait_for_questions() {
    if (lock_with_deadline(asking_)) asking_.unlock();
}

/// `is_over` means that the device no longer writes the piece. Otherwise its memory is never reused.
void Arrivals::hand_on(const ArrivingPiece& piece, bool has_come, bool is_over) {
    ArrivingTensor& tensor = *piece.tensor;
    tensor.is_lost = tensor.is_lost || !has_come;
    const TensorChunk chunk{piece.bytes, Staging::give_back, piece.slot};
    if (tensor.is_lost) {
        if (piece.slot != nullptr && (has_come || is_over)) Staging::give_back(piece.slot);
        if (piece.is_last) writers_.give_up(tensor.job);
    } else if (piece.has_hash) {
        tensor.hash = finished(piece.arrived.sum, tensor.bytes);
        pass_facts(tensor, piece, chunk);
    } else {
        writers_.append(tensor.job, chunk);
        if (piece.is_last) writers_.close(tensor.job, {tensor.hash, std::nullopt});
    }
    handed_on_.fetch_add(1, std::memory_order_release);
}

/// Passes on the hash, either together with all bytes or before the first of them.
void Arrivals::pass_facts(const ArrivingTensor& tensor, const ArrivingPiece& piece,
                          const TensorChunk& chunk) {
    const SavedFacts facts{tensor.hash, std::nullopt};
    if (piece.is_last) return writers_.hand_over(tensor.job, facts, tensor.before, chunk);
    Staging::give_back(piece.slot);
    writers_.expect(tensor.job, facts);
    if (tensor.before != 0) writers_.append(tensor.job, hole(tensor.before));
}

bool Arrivals::drain(std::uint64_t patience_ns) const {
    const std::uint64_t put = put_.load(std::memory_order_relaxed);
    std::uint64_t handed_on = handed_on_.load(std::memory_order_acquire);
    for (std::uint64_t since = monotonic_nanoseconds(); handed_on < put;) {
        nap(kShortestPause);
        const std::uint64_t now = monotonic_nanoseconds();
        const std::uint64_t then = std::exchange(handed_on, handed_on_.load(std::memory_order_acquire));
        if (handed_on != then) since = now;
        if (now - since > patience_ns) return false;
    }
    return true;
}

void Arrivals::finish() {
    ending_since_.store(monotonic_nanoseconds(), std::memory_order_relaxed);
    // The thread gives up before this timeout.
    (void)drain(kArrivalPatience + kArrivalPatience / 2);
}

}  // namespace aoti_dbg
