// All shared state is in a page that the kernel wipes in a fork's child. Zeros are a free pool without
// threads and without work. A child therefore starts with an empty pool in every case.
#include "shim/measure/host_pool.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "base/errno_keeper.hpp"

namespace aoti_dbg {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free, "a futex is a word");

// This is a raw futex because std::atomic's wait spins before it sleeps. It must not be a cancellation point
// either.
void sleep_while(Word& word, std::uint32_t value) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(Word& word, std::uint32_t sleepers) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, sleepers, nullptr, nullptr, 0);
}

// The door to the work, in one word. A thread that finds it closed must not read the work, because the caller
// may be gone.
constexpr std::uint32_t kOpen = 1U << 31U;
constexpr std::uint32_t kOneMayEnter = 1U << 16U;
constexpr std::uint32_t kInside = kOneMayEnter - 1;
constexpr std::uint32_t may_enter(std::uint32_t door) {
    return (door & ~kOpen) / kOneMayEnter;
}

}  // namespace

struct HostPool::Task {
    SharedWork work;
    std::atomic<bool>* is_done;  // for each part
};

struct HostPool::State {
    std::atomic<bool> is_taken;  // by a caller, which alone creates threads and writes `task`
    bool is_refused;             // no more threads can be created
    std::atomic<std::uint32_t> threads;
    Word calls;  // number of shared calls; threads sleep on it
    Word door;   // the caller sleeps on it
    std::atomic<std::uint32_t> next_part;
    Task task;

    /// Returns whether this thread may take part. If so, it must call leave() later.
    bool enter() {
        std::uint32_t seen = door.load(std::memory_order_relaxed);
        do {
            if ((seen & kOpen) == 0 || (seen & kInside) >= may_enter(seen)) return false;
        } while (!door.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed));
        return true;
    }
    void leave() {
        const std::uint32_t now = door.fetch_sub(1, std::memory_order_acq_rel) - 1;
        if ((now & kOpen) == 0 && (now & kInside) == 0) wake(door, 1);
    }
    void do_parts(const Task& its) {
        for (;;) {
            const std::uint32_t part = next_part.fetch_add(1, std::memory_order_relaxed);
            if (part >= its.work.parts) return;
            its.work.do_part(its.work.context, part);
            its.is_done[part].store(true, std::memory_order_relaxed);
        }
    }
};

HostPool* HostPool::make(StartThread start_thread) {
    void* page = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    // If the kernel cannot wipe the page, a child would wait for threads that it does not have.
    HostPool* pool = madvise(page, sizeof(State), MADV_WIPEONFORK) == 0
                         ? new (std::nothrow) HostPool(*new (page) State(), start_thread)
                         : nullptr;
    if (pool == nullptr) munmap(page, sizeof(State));
    return pool;
}

HostPool* HostPool::of_process() {
    static std::atomic<HostPool*> pool{nullptr};
    HostPool* known = pool.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    HostPool* made = make();
    if (made == nullptr || pool.compare_exchange_strong(known, made)) return made;
    munmap(&made->state_, sizeof(State));
    delete made;
    return known;
}

std::uint32_t HostPool::threads() const {
    return state_.threads.load(std::memory_order_relaxed);
}

void HostPool::share(const SharedWork& work, std::uint32_t most_threads) {
    const ErrnoKeeper errno_keeper;
    const std::uint32_t most = most_threads < kMostThreads ? most_threads : kMostThreads;
    std::uint32_t helpers = (most < work.parts ? most : work.parts);
    helpers -= helpers == 0 ? 0 : 1;
    if (helpers != 0 && !state_.is_taken.exchange(true, std::memory_order_acquire)) {
        make_threads(helpers);
        const std::uint32_t there = threads();
        share_with(helpers < there ? helpers : there, work);
        state_.is_taken.store(false, std::memory_order_release);
        return;
    }
    for (std::uint32_t part = 0; part < work.parts; ++part)
        work.do_part(work.context, part);
}

void HostPool::make_threads(std::uint32_t requested) {
    while (threads() < requested && !state_.is_refused) {
        state_.is_refused = !start_thread_(run_thread, &state_);
        if (!state_.is_refused) state_.threads.fetch_add(1, std::memory_order_relaxed);
    }
}

void HostPool::share_with(std::uint32_t helpers, const SharedWork& work) {
    std::atomic<bool> is_done[SharedWork::kMostParts] = {};
    const Task task{work, is_done};
    state_.task = task;
    state_.next_part.store(0, std::memory_order_relaxed);
    state_.door.store(kOpen | helpers * kOneMayEnter, std::memory_order_release);
    state_.calls.fetch_add(1, std::memory_order_release);
    wake(state_.calls, helpers);
    state_.do_parts(task);
    std::uint32_t door = state_.door.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    for (; (door & kInside) != 0; door = state_.door.load(std::memory_order_acquire))
        sleep_while(state_.door, door);
    // A signal handler may have forked during the wait. This is then the child, which has no other threads.
    for (std::uint32_t part = 0; part < work.parts; ++part) {
        if (!is_done[part].load(std::memory_order_relaxed)) work.do_part(work.context, part);
    }
}

void* HostPool::run_thread(void* argument) {
    State& state = *static_cast<State*>(argument);
    name_own_thread();
    for (;;) {
        const std::uint32_t seen = state.calls.load(std::memory_order_acquire);
        if (state.enter()) {
            state.do_parts(state.task);
            state.leave();
        }
        sleep_while(state.calls, seen);
    }
}

}  // namespace aoti_dbg
