#include "shim/faults/marked_context.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>

#include "base/cache_line.hpp"
#include "base/message.hpp"
#include "serializer/cuda_error.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/gpu_context.hpp"

namespace aoti_dbg {
namespace {

template <typename T>
T load(const T& from) {
    T value;
    __atomic_load(&from, &value, __ATOMIC_ACQUIRE);
    return value;
}

template <typename T>
void store(T& to, T value) {
    __atomic_store(&to, &value, __ATOMIC_RELEASE);
}

void raise_to(std::uint64_t& to, std::uint64_t value) {
    std::uint64_t present = load(to);
    while (present < value &&
           !__atomic_compare_exchange_n(&to, &present, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
}

/// Extends the lower half of a number to the whole number, which is at most `last`.
std::uint64_t whole(std::uint32_t word, std::uint64_t last) {
    return last - (static_cast<std::uint32_t>(last) - word);
}

}  // namespace

/// Each word has its own cache line. If others wrote to the line too, the device would have to preserve the
/// rest of it.
struct alignas(kCacheLine) MarkedContext::Word {
    std::uint32_t value;
};

void say_without_markers(const char* what, const char* why, int error) {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    char number[32] = "";
    if (error != 0) snprintf(number, sizeof number, " (CUDA error %d)", error);
    message(Severity::warn,
            "%s: %s%s. The library knows less exactly which launches have finished. Set "
            "AOTI_DBG_COMPLETION=blocking: the launch that fails or does not return is then the culprit.",
            what, why, number);
}

void MarkedContext::open(const DriverApi& api, FlightRing& ring, std::uint32_t flags) {
    const RelaxedCapture relaxed(api);
    if (api.cuStreamWriteValue32_v2 == nullptr)
        return say_without_markers("completion markers are off", "the driver does not support them");
    constexpr std::size_t kBytes = kStreams * sizeof(Word);
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return say_without_markers("completion markers are off", "out of memory");
    // A fork's child would otherwise keep its parent's pages, which the device writes to.
    madvise(memory, kBytes, MADV_DONTFORK);
    if (!register_memory(api, memory, kBytes, device_)) {
        munmap(memory, kBytes);
        return say_without_markers("completion markers are off", "the device cannot write to host memory");
    }
    words_ = static_cast<Word*>(memory);
    header_ = ring.add_markers(first_, kStreams);
    if (header_ == nullptr) return;  // a message was printed
    streams_ = reinterpret_cast<ring::MarkedStream*>(header_ + 1);
    header_->flags = flags;
    state_.store(State::usable, std::memory_order_release);
}

void MarkedContext::open_again(const DriverApi& api) {
    if (!is_uncertain()) return;
    const RelaxedCapture relaxed(api);
    // The driver forgot the memory together with the old context.
    const bool is_known = api.cuMemHostGetDevicePointer_v2(&device_, words_, 0) == CUDA_SUCCESS;
    const bool is_open = is_known || register_memory(api, words_, kStreams * sizeof(Word), device_);
    if (!is_known) give_up_launches();
    if (!is_open) {
        leave_one_out();
        say_without_markers("completion markers are off from here on",
                            "the device cannot write to host memory");
    }
    state_.store(is_open ? State::usable : State::closed, std::memory_order_release);
}

void MarkedContext::mark(const DriverApi& api, ThreadState& state, CUstream stream, ring::Record& record,
                         std::uint64_t seq) {
    const std::uint32_t tid = state.ring.header()->tid;
    const auto handle = reinterpret_cast<std::uintptr_t>(stream);
    std::uint16_t& known = state.marked_at[(handle >> 4U ^ handle) % state.marked_at.size()];
    const std::uint32_t place = place_of(tid, handle, seq, known);
    if (place == kStreams) {
        leave_one_out();
        return say_without_markers("some launches have no completion markers",
                                   "too many streams and threads have unfinished launches");
    }
    known = static_cast<std::uint16_t>(first_ + place);
    ring::MarkedStream& marked = streams_[place];
    const std::uint64_t before = marked.last;
    store(marked.last, seq);
    store(record.mark, known);
    const CUresult result = api.cuStreamWriteValue32_v2(
        stream, device_ + place * sizeof(Word), static_cast<cuuint32_t>(seq), CU_STREAM_WRITE_VALUE_DEFAULT);
    // If the context failed meanwhile, the launch is not known to have ended.
    if (result == CUDA_SUCCESS) return;
    if (ends_context(result)) return note_failure(result);
    store(record.mark, std::uint16_t{0});
    store(marked.last, before);
    leave_one_out();
    state_.store(State::closed, std::memory_order_release);
    say_without_markers("completion markers are off", "the driver refused to write one", result);
}

void MarkedContext::leave_one_out() {
    if (header_ != nullptr) __atomic_fetch_or(&header_->flags, ring::kNotAll, __ATOMIC_RELAXED);
}

void MarkedContext::look() {
    if (streams_ == nullptr) return;
    const std::uint64_t begun = ticks();
    for (std::uint32_t i = 0; i < used(); ++i) {
        const std::uint32_t word =
            load(words_[i].value);  // read before `last`, because it is never beyond it
        raise_to(streams_[i].completed, whole(word, load(streams_[i].last)));
    }
    raise_to(header_->looked_ticks, begun);
}

std::uint64_t MarkedContext::look_for_unended(std::vector<UnendedMark>& unended) {
    const State state = state_.load(std::memory_order_acquire);
    if (state == State::closed || load(header_->error) != 0) return 0;
    look();
    const std::uint64_t over = over_.load(std::memory_order_acquire);
    std::uint64_t ended = 0;
    for (std::uint32_t i = 0; i < used(); ++i) {
        const std::uint64_t completed = std::max(load(streams_[i].completed), over);
        ended += completed;
        if (completed < load(streams_[i].last))
            unended.push_back({first_ + i, completed, state == State::uncertain});
    }
    return ended;
}

void MarkedContext::note_failure(std::int32_t error) {
    if (streams_ == nullptr) return;
    look();
    std::int32_t none = 0;
    __atomic_compare_exchange_n(&header_->error, &none, error, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void MarkedContext::context_ends() {
    look();
    // The record of a failed context must not mix with that of a later context.
    if (header_ != nullptr && load(header_->error) != 0) context_.store(nullptr, std::memory_order_release);
    State usable = State::usable;
    state_.compare_exchange_strong(usable, State::uncertain);
}

void MarkedContext::give_up_launches() {
    std::uint64_t last = 0;
    for (std::uint32_t i = 0; i < used(); ++i)
        last = std::max(last, load(streams_[i].last));
    over_.store(last, std::memory_order_release);
}

void MarkedContext::thread_ends(std::uint32_t tid) {
    for (std::uint32_t i = 0; i < used(); ++i) {
        std::uint32_t owner = tid;
        owners_[i].compare_exchange_strong(owner, 0);
    }
}

std::uint32_t MarkedContext::used() const {
    return std::min(used_.load(std::memory_order_acquire), kStreams);
}

bool MarkedContext::is_mine(std::uint32_t place, std::uint32_t tid, std::uint64_t stream) const {
    return owners_[place].load(std::memory_order_relaxed) == tid && streams_[place].stream == stream;
}

bool MarkedContext::is_idle(std::uint32_t place) const {
    return load(words_[place].value) == static_cast<std::uint32_t>(load(streams_[place].last));
}

std::uint32_t MarkedContext::place_of(std::uint32_t tid, std::uint64_t stream, std::uint64_t seq,
                                      std::uint32_t known) {
    if (known >= first_ && known - first_ < kStreams && is_mine(known - first_, tid, stream))
        return known - first_;
    for (std::uint32_t i = 0; i < used(); ++i)
        if (is_mine(i, tid, stream)) return i;
    if (used() < kStreams) {
        const std::uint32_t fresh = used_.fetch_add(1, std::memory_order_acq_rel);
        if (fresh < kStreams && take(fresh, 0, tid, stream, seq)) return fresh;
    }
    for (std::uint32_t i = 0; i < kStreams; ++i) {
        const std::uint32_t owner = owners_[i].load(std::memory_order_acquire);
        // No thread takes a place from a living thread.
        if ((owner == 0 || owner == tid) && is_idle(i) && take(i, owner, tid, stream, seq)) return i;
    }
    return kStreams;
}

bool MarkedContext::take(std::uint32_t place, std::uint32_t owner, std::uint32_t tid, std::uint64_t stream,
                         std::uint64_t seq) {
    if (!owners_[place].compare_exchange_strong(owner, tid)) return false;
    ring::MarkedStream& marked = streams_[place];
    // All earlier marks in this place have ended. `last` comes first, because the word must never be beyond
    // it.
    store(marked.last, seq - 1);
    store(words_[place].value, static_cast<std::uint32_t>(seq - 1));
    store(marked.stream, stream);
    raise_to(marked.completed, seq - 1);
    store(marked.tid, tid);
    return true;
}

}  // namespace aoti_dbg
