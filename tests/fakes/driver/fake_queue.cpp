#include "tests/fakes/driver/fake_queue.hpp"

#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/fakes/driver/fake_driver.hpp"
#include "tests/fakes/driver/fake_profile.hpp"

namespace fake_cuda {
namespace {

// The real driver's queue is this deep. A launch then waits, which bounds memory.
constexpr std::size_t kDeepest = 1024;

}  // namespace

bool runs_inline() {
    static const bool value = [] {
        const char* text = std::getenv("FAKE_CUDA_INLINE");
        return text != nullptr && text[0] == '1';
    }();
    return value;
}

bool KernelTask::run() const {
    if (faults) return false;
    const std::byte* parameters[64];
    for (std::size_t i = 0; i < offsets.size(); ++i)
        parameters[i] = values.data() + offsets[i];
    return kernel(parameters, shape);
}

void Queue::start_worker() {
    worker_runs_ = true;
    // The worker must not take signals meant for the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([self = shared_from_this()] { self->work(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::uint64_t Queue::submit(Task task) {
    std::unique_lock lock(mutex_);
    if (runs_inline()) {
        task();
        completed_ = ++submitted_;
        return submitted_;
    }
    if (!worker_runs_) start_worker();
    progress_.wait(lock, [this] { return tasks_.size() < kDeepest; });
    tasks_.push_back(correlated(std::move(task)));
    const std::uint64_t ticket = ++submitted_;
    if (worker_sleeps_) has_work_.notify_one();
    return ticket;
}

void Queue::submit_wait(const std::shared_ptr<Queue>& other, std::uint64_t ticket) {
    if (other.get() == this || other->is_done(ticket)) return;
    submit([other, ticket] { other->wait(ticket); });
}

std::uint64_t Queue::last_ticket() {
    const std::lock_guard lock(mutex_);
    return submitted_;
}

bool Queue::is_done(std::uint64_t ticket) {
    const std::lock_guard lock(mutex_);
    return completed_ >= ticket;
}

void Queue::wait(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    progress_.wait(lock, [this, ticket] { return completed_ >= ticket; });
}

void Queue::hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
}

void Queue::release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    has_work_.notify_one();
}

bool Queue::is_held() {
    const std::lock_guard lock(mutex_);
    return held_;
}

void Queue::abandon() {
    const std::lock_guard lock(mutex_);
    tasks_.clear();
    completed_ = submitted_ - (is_running_ ? 1 : 0);
    progress_.notify_all();
}

void Queue::stop() {
    release();
    wait_all();
    const std::lock_guard lock(mutex_);
    stops_ = true;
    has_work_.notify_one();
}

void Queue::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        worker_sleeps_ = true;
        has_work_.wait(lock, [this] { return stops_ || (!held_ && !tasks_.empty()); });
        worker_sleeps_ = false;
        if (tasks_.empty()) return;
        const Task task = std::move(tasks_.front());
        tasks_.pop_front();
        is_running_ = true;
        lock.unlock();
        task();
        lock.lock();
        is_running_ = false;
        ++completed_;
        progress_.notify_all();
    }
}

}  // namespace fake_cuda
