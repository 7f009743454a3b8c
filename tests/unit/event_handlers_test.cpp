// The driver's threads: found by their name, among others, and known to have run when they have.
#include "shim/observe/event_handlers.hpp"

#include <semaphore.h>
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

namespace aoti_dbg::event_handlers {
namespace {

/// A thread that sleeps but when it is told to do something.
class Sleeper {
  public:
    explicit Sleeper(const char* name) {
        sem_init(&told_, 0, 0);
        sem_init(&done_, 0, 0);
        thread_ = std::thread([this, name] {
            pthread_setname_np(pthread_self(), name);
            number_ = gettid();
            do {
                sem_post(&done_);
                wait_for(told_);
            } while (!ends_);
        });
        wait_for(done_);
        wait_until_it_sleeps();
    }
    ~Sleeper() {
        ends_ = true;
        sem_post(&told_);
        thread_.join();
        // Which its join is a little ahead of.
        while (access(folder().c_str(), F_OK) == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    void run() {
        sem_post(&told_);
        wait_for(done_);
        wait_until_it_sleeps();
    }

  private:
    static void wait_for(sem_t& semaphore) {
        while (sem_wait(&semaphore) != 0) {
        }
    }

    [[nodiscard]] std::string folder() const { return "/proc/self/task/" + std::to_string(number_); }

    /// Which no thread can say of itself.
    void wait_until_it_sleeps() const {
        const std::string path = folder() + "/stat";
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

    sem_t told_;
    sem_t done_;
    std::atomic<bool> ends_{false};
    std::atomic<pid_t> number_{0};
    std::thread thread_;
};

constexpr const char* kName = "cuda-EvtHandlr";

/// Until what they did on their way to sleep is known.
void settle() {
    do {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } while (have_run());
}

/// The same, and those of the tests before are gone.
void find_and_settle() {
    do {
        find();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    } while (have_run() || !g_are_complete);
}

/// Which is found out when all are asked.
bool one_is_missing() {
    have_run();
    return !g_are_complete;
}

TEST_CASE("Without such a thread none has run") {
    find_and_settle();
    CHECK_FALSE(have_run());
    CHECK_FALSE(have_run());
}

TEST_CASE("A thread of that name has run when it has, and only once for each time") {
    Sleeper handler(kName);
    Sleeper other("cuda-EvtHandler");
    Sleeper shorter("cuda-EvtHandl");
    find_and_settle();
    for (int i = 0; i < 3; ++i) {
        handler.run();
        CHECK(have_run());
        settle();
    }
    other.run();
    shorter.run();
    CHECK_FALSE(have_run());
    // However often it is asked.
    int ran = 0;
    for (int i = 0; i < 10'000; ++i)
        ran += have_run() ? 1 : 0;
    CHECK(ran == 0);
}

TEST_CASE("What a thread has done before it is found does not count") {
    Sleeper handler(kName);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    handler.run();
    CHECK_FALSE(have_run());
    find_and_settle();
    handler.run();
    CHECK(have_run());
}

TEST_CASE("Each of several is watched, and those that came later when they are looked for again") {
    std::vector<std::unique_ptr<Sleeper>> handlers;
    for (int i = 0; i < 3; ++i)
        handlers.push_back(std::make_unique<Sleeper>(kName));
    find_and_settle();
    handlers.push_back(std::make_unique<Sleeper>(kName));
    settle();
    handlers.back()->run();
    CHECK_FALSE(have_run());
    find_and_settle();
    for (const auto& handler : handlers) {
        handler->run();
        CHECK(have_run());
        settle();
    }
}

TEST_CASE("When a thread has ended, whoever comes then is looked for") {
    auto ended = std::make_unique<Sleeper>(kName);
    find_and_settle();
    CHECK(g_are_complete);
    ended.reset();
    CHECK(one_is_missing());
    CHECK_FALSE(have_run());
    Sleeper next(kName);
    find_if_any_are_missing();
    CHECK(g_are_complete);
    settle();
    next.run();
    CHECK(have_run());
}

TEST_CASE("More threads than are watched do no harm, and give their places back") {
    {
        std::vector<std::unique_ptr<Sleeper>> many;
        for (int i = 0; i < 40; ++i)
            many.push_back(std::make_unique<Sleeper>(kName));
        find();
        settle();
        for (const auto& one : many)
            one->run();
        CHECK(have_run());
    }
    CHECK(one_is_missing());
    settle();
    Sleeper handler(kName);
    find_and_settle();
    handler.run();
    CHECK(have_run());
}

TEST_CASE("In a fork's child none has run") {
    Sleeper handler(kName);
    find_and_settle();
    const pid_t child = fork();
    if (child == 0) _exit(have_run() ? 1 : 0);
    handler.run();
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(have_run());
}

TEST_CASE("Nobody's errno is changed, and no descriptor is left open") {
    const int first = dup(0);
    REQUIRE(first >= 0);
    close(first);
    auto ended = std::make_unique<Sleeper>(kName);
    errno = 77;
    find();
    CHECK(errno == 77);
    ended.reset();
    errno = 78;
    have_run();
    CHECK(errno == 78);
    const int second = dup(0);
    CHECK(second == first);
    close(second);
}

}  // namespace
}  // namespace aoti_dbg::event_handlers
