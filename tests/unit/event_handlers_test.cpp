// The driver's threads: found by their name among others, and detected to have run if and only if they have.
#include "shim/runtime/event_handlers.hpp"

#include <poll.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

namespace aoti_dbg::event_handlers::event_handlers_test {
namespace {

using std::chrono::milliseconds;

std::string folder_of(pid_t thread) {
    return "/proc/self/task/" + std::to_string(thread);
}

/// A thread cannot report this about itself.
void wait_until_it_sleeps(pid_t thread) {
    const std::string path = folder_of(thread) + "/stat";
    std::string state;
    while (state != "S") {
        std::ifstream file(path);
        std::string text;
        std::getline(file, text);
        const std::size_t name_ends = text.rfind(')');
        REQUIRE(name_ends != std::string::npos);
        state = text.substr(name_ends + 2, 1);
    }
}

/// A thread's join returns a little before that.
void wait_until_it_is_gone(pid_t thread) {
    while (access(folder_of(thread).c_str(), F_OK) == 0)
        std::this_thread::sleep_for(milliseconds(1));
}

void wait_for(sem_t& semaphore) {
    while (sem_wait(&semaphore) != 0) {
    }
}

/// A thread that sleeps except when it is asked to run.
class Sleeper {
  public:
    explicit Sleeper(const char* name) {
        sem_init(&reported_, 0, 0);
        sem_init(&done_, 0, 0);
        thread_ = std::thread([this, name] {
            pthread_setname_np(pthread_self(), name);
            number_ = gettid();
            do {
                sem_post(&done_);
                wait_for(reported_);
            } while (!ends_);
        });
        wait_for(done_);
        wait_until_it_sleeps(number_);
    }
    ~Sleeper() {
        ends_ = true;
        sem_post(&reported_);
        thread_.join();
        wait_until_it_is_gone(number_);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    void run() {
        sem_post(&reported_);
        wait_for(done_);
        wait_until_it_sleeps(number_);
    }

  private:
    sem_t reported_;
    sem_t done_;
    std::atomic<bool> ends_{false};
    std::atomic<pid_t> number_{0};
    std::thread thread_;
};

/// A thread that sleeps as the driver's does: for a while or until it is called, then for the rest of that
/// time.
class Poller {
  public:
    Poller(const char* name, int period, int rest) : called_(eventfd(0, EFD_CLOEXEC)) {
        sem_init(&done_, 0, 0);
        thread_ = std::thread([this, name, period, rest] {
            pthread_setname_np(pthread_self(), name);
            number_ = gettid();
            sem_post(&done_);
            for (int sleeps = period; !ends_;) {
                pollfd called{called_, POLLIN, 0};
                eventfd_t times = 0;
                if (poll(&called, 1, sleeps) > 0) eventfd_read(called_, &times);
                sleeps = times > 0 ? rest : period;
                times > 0 ? void(sem_post(&done_)) : void(++turns_);
            }
        });
        wait_for(done_);
        wait_until_it_sleeps(number_);
    }
    ~Poller() {
        ends_ = true;
        eventfd_write(called_, 1);
        thread_.join();
        wait_until_it_is_gone(number_);
        close(called_);
    }
    Poller(const Poller&) = delete;
    Poller& operator=(const Poller&) = delete;
    void call() {
        eventfd_write(called_, 1);
        wait_for(done_);
        wait_until_it_sleeps(number_);
    }
    void turn() {
        for (const int before = turns_; turns_ == before;)
            std::this_thread::sleep_for(milliseconds(1));
        wait_until_it_sleeps(number_);
    }

  private:
    int called_;
    sem_t done_;
    std::atomic<bool> ends_{false};
    std::atomic<int> turns_{0};
    std::atomic<pid_t> number_{0};
    std::thread thread_;
};

constexpr const char* kName = "cuda-EvtHandlr";

/// Waits until the activity of threads on their way to sleep has been counted.
void wait_until_quiet() {
    do {
        std::this_thread::sleep_for(milliseconds(2));
    } while (have_been_called());
}

/// The same, and the threads of earlier tests are gone.
void find_and_settle() {
    do {
        find();
        std::this_thread::sleep_for(milliseconds(2));
    } while (have_been_called() || !g_are_complete);
}

/// Asking all threads is what finds out that one is missing.
bool one_is_missing() {
    have_been_called();
    return !g_are_complete;
}

TEST_CASE("Without such a thread none has run") {
    find_and_settle();
    CHECK_FALSE(have_been_called());
    CHECK_FALSE(have_been_called());
}

TEST_CASE("A thread of that name counts as run when it has, once each time") {
    Sleeper handler(kName);
    Sleeper other("cuda-EvtHandler");
    Sleeper shorter("cuda-EvtHandl");
    find_and_settle();
    for (int i = 0; i < 3; ++i) {
        handler.run();
        CHECK(have_been_called());
        wait_until_quiet();
    }
    other.run();
    shorter.run();
    CHECK_FALSE(have_been_called());
    // This holds however often the question is asked.
    int ran = 0;
    for (int i = 0; i < 10'000; ++i)
        ran += have_been_called() ? 1 : 0;
    CHECK(ran == 0);
}

/// Counts the detections in 8 tries. A busy machine may delay the question for longer than a thread sleeps.
template <typename Happens>
int times(Happens happens) {
    int answers = 0;
    for (int i = 0; i < 8; ++i) {
        happens();
        answers += have_been_called() ? 1 : 0;
        wait_until_quiet();
    }
    return answers;
}

#ifdef SYS_poll
TEST_CASE("A thread that wakes in its own turn was not called, and one that sleeps the rest of it was") {
    Poller handler(kName, 100, 80);
    find_and_settle();
    CHECK(times([&] { handler.turn(); }) <= 2);
    CHECK(times([&] { handler.call(); }) >= 6);
    // The longer period is learned, and then its rest counts.
    Poller longer(kName, 300, 200);
    find_and_settle();
    longer.turn();
    wait_until_quiet();
    CHECK(times([&] { longer.turn(); }) <= 2);
    CHECK(times([&] { longer.call(); }) >= 6);
}
#endif

TEST_CASE("Without an end to its sleep, or with a short one, each time counts") {
    Poller short_one(kName, 20, 20);
    find();
    CHECK(times([&] { short_one.turn(); }) >= 6);
    Poller endless(kName, -1, -1);
    find();
    CHECK(times([&] { endless.call(); }) >= 6);
}

/// A thread that does its work once a round, and reports the start and the end of it.
template <typename Work>
class InRounds {
  public:
    explicit InRounds(Work work)
        : thread_([this, work] {
              number_ = gettid();
              for (int round = 0;; ++round) {
                  requested_.wait(round);
                  if (ends_) return;
                  begun_ = round + 1;
                  work();
                  done_ = round + 1;
                  done_.notify_all();
              }
          }) {
        while (number_ == 0)
            std::this_thread::yield();
        wait_until_it_sleeps(number_);
    }
    ~InRounds() {
        ends_ = true;
        begin();
        thread_.join();
        wait_until_it_is_gone(number_);
    }
    InRounds(const InRounds&) = delete;
    InRounds& operator=(const InRounds&) = delete;
    void begin() {
        ++requested_;
        requested_.notify_all();
    }
    void wait_until_begun() const {
        while (begun_ != requested_)
            std::this_thread::yield();
    }
    void wait_until_done() const {
        for (int done = done_; done != requested_; done = done_)
            done_.wait(done);
    }

  private:
    std::atomic<int> requested_{0};
    std::atomic<int> begun_{0};
    std::atomic<int> done_{0};
    std::atomic<bool> ends_{false};
    std::atomic<pid_t> number_{0};
    std::thread thread_;
};

TEST_CASE("Threads that ask at the same time get the same answer") {
    InRounds handler([] {
        pthread_setname_np(pthread_self(), kName);
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(700);
        while (std::chrono::steady_clock::now() < until) {
        }
    });
    handler.begin();
    handler.wait_until_done();
    find_and_settle();
    std::atomic<bool> is_over{false};
    std::atomic<bool> is_beside{false};
    std::atomic<bool> is_reported{false};
    InRounds other([&] {
        is_beside = !is_over;
        is_reported = have_been_called();
    });
    int answers = 0;
    int beside = 0;
    // With fewer processors than threads, the other one often starts after this one has its answer.
    for (int i = 0; beside < 50 && i < 5000; ++i) {
        is_over = false;
        handler.begin();
        handler.wait_until_begun();
        other.begin();
        const bool own = have_been_called();
        is_over = true;
        other.wait_until_done();
        beside += is_beside ? 1 : 0;
        answers += own && is_reported && is_beside ? 1 : 0;
        handler.wait_until_done();
        wait_until_quiet();
    }
    REQUIRE(beside == 50);
    // A busy machine may delay one of the two until the other has its answer.
    CHECK(answers >= 30);
}

TEST_CASE("The activity of a thread before it is found does not count") {
    Sleeper handler(kName);
    std::this_thread::sleep_for(milliseconds(20));
    handler.run();
    CHECK_FALSE(have_been_called());
    find_and_settle();
    handler.run();
    CHECK(have_been_called());
}

TEST_CASE("Every thread of several is watched, and later ones after the next search") {
    std::vector<std::unique_ptr<Sleeper>> handlers;
    handlers.reserve(4);
    for (int i = 0; i < 3; ++i)
        handlers.push_back(std::make_unique<Sleeper>(kName));
    find_and_settle();
    handlers.push_back(std::make_unique<Sleeper>(kName));
    wait_until_quiet();
    handlers.back()->run();
    CHECK_FALSE(have_been_called());
    find_and_settle();
    for (const auto& handler : handlers) {
        handler->run();
        CHECK(have_been_called());
        wait_until_quiet();
    }
}

TEST_CASE("After a thread has ended, the next search finds its successor") {
    auto ended = std::make_unique<Sleeper>(kName);
    find_and_settle();
    CHECK(g_are_complete);
    ended.reset();
    CHECK(one_is_missing());
    CHECK_FALSE(have_been_called());
    Sleeper next(kName);
    find_if_any_are_missing();
    CHECK(g_are_complete);
    wait_until_quiet();
    next.run();
    CHECK(have_been_called());
}

TEST_CASE("More threads than can be watched do no harm, and give their places back") {
    {
        std::vector<std::unique_ptr<Sleeper>> many;
        many.reserve(40);
        for (int i = 0; i < 40; ++i)
            many.push_back(std::make_unique<Sleeper>(kName));
        find();
        wait_until_quiet();
        for (const auto& one : many)
            one->run();
        CHECK(have_been_called());
    }
    CHECK(one_is_missing());
    wait_until_quiet();
    Sleeper handler(kName);
    find_and_settle();
    handler.run();
    CHECK(have_been_called());
}

/// Uses the processor for that time, in its own thread.
void work(milliseconds time) {
    timespec had{};
    const auto nanoseconds = [&had] {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
        return had.tv_sec * 1'000'000'000 + had.tv_nsec;
    };
    const auto until = nanoseconds() + time.count() * 1'000'000;
    while (nanoseconds() < until) {
    }
}

TEST_CASE("The processor time is that of the living threads, and zero when all have ended") {
    constexpr std::uint64_t kMillisecond = 1'000'000;
    find_and_settle();
    CHECK(time_had() == 0U);  // without the threads of earlier tests
    std::atomic<int> rounds{0};
    std::atomic<int> requested{0};
    std::atomic<bool> ends{false};
    std::thread worker([&] {
        pthread_setname_np(pthread_self(), kName);
        while (!ends) {
            if (rounds == requested) {
                std::this_thread::sleep_for(milliseconds(1));
                continue;
            }
            work(milliseconds(30));
            ++rounds;
        }
    });
    std::uint64_t before = 0;
    while ((before = time_had().value_or(0)) == 0)
        std::this_thread::sleep_for(milliseconds(1));
    ++requested;
    while (rounds != requested)
        std::this_thread::sleep_for(milliseconds(1));
    CHECK(time_had().value_or(0) >= before + 30 * kMillisecond);
    ends = true;
    worker.join();
    while (time_had() != 0U)
        std::this_thread::sleep_for(milliseconds(1));
}

TEST_CASE("In a forked child none has run") {
    Sleeper handler(kName);
    find_and_settle();
    const pid_t child = fork();
    if (child == 0) _exit(have_been_called() ? 1 : 0);
    handler.run();
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(have_been_called());
}

TEST_CASE("errno stays unchanged, and no descriptor stays open") {
    const int first = dup(0);
    REQUIRE(first >= 0);
    close(first);
    auto ended = std::make_unique<Sleeper>(kName);
    errno = 77;
    find();
    CHECK(errno == 77);
    ended.reset();
    errno = 78;
    have_been_called();
    CHECK(errno == 78);
    const int second = dup(0);
    CHECK(second == first);
    close(second);
}

}  // namespace
}  // namespace aoti_dbg::event_handlers::event_handlers_test
