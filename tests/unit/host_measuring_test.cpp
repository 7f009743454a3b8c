// Tensors on the host, measured by one thread and by several of ours. The results must agree, and the program
// must not notice.
#include "shim/measure/host_measuring.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cfenv>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "stats_kernels/cpu_statistics.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/random.hpp"

// Children forked here create threads, as a program's workers do.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
    return "die_after_fork=0";
}

namespace aoti_dbg {
using test::in_child;

namespace {

constexpr Requested kAll = Requested::findings | Requested::printed | Requested::indices | Requested::hash;

/// A pool for one test; its threads sleep until the program ends.
HostPool& a_pool(HostPool::StartThread start_thread = start_own_thread) {
    static auto* const kept = new std::vector<HostPool*>;
    kept->push_back(HostPool::make(start_thread));
    REQUIRE(kept->back() != nullptr);
    return *kept->back();
}

bool refused(void* (*)(void*), void*) {
    return false;
}

struct Counted {
    std::atomic<std::uint32_t> times[SharedWork::kMostParts] = {};
    static void count(void* context, std::uint32_t part) {
        static_cast<Counted*>(context)->times[part].fetch_add(1);
    }
    [[nodiscard]] bool each_once(std::uint32_t parts) const {
        for (std::uint32_t part = 0; part < parts; ++part) {
            if (times[part].load() != 1) return false;
        }
        return true;
    }
};

/// Work of two parts that ends only when both run at once, so in two threads.
struct Meeting {
    std::atomic<std::uint32_t> present{0};
    void (*in_ours)(Meeting&) = nullptr;  // called by the thread that is not the caller
    pthread_t caller = pthread_self();
    sigset_t blocked = {};
    char name[16] = {};

    static void attend(void* context, std::uint32_t) {
        auto& its = *static_cast<Meeting*>(context);
        its.present.fetch_add(1);
        while (its.present.load() < 2)
            sched_yield();
        if (its.in_ours != nullptr && pthread_equal(its.caller, pthread_self()) == 0) its.in_ours(its);
    }
    [[nodiscard]] SharedWork work() { return {attend, this, 2}; }
};

/// An attention mask at the start, with noise behind it.
std::vector<float> numbers(std::size_t count) {
    Random random;
    std::vector<float> made(count);
    for (float& number : made)
        number = 1e4F + static_cast<float>(random.below(1000)) / 500.0F;
    for (std::size_t i = 7; i < count; i += 100'003)
        made[i] = i % 2 == 0 ? -HUGE_VALF : NAN;
    return made;
}

/// The bits of a double, so that NaN can be compared.
std::uint64_t bits(double number) {
    return __builtin_bit_cast(std::uint64_t, number);
}

void check_same(const Moments& one, const Moments& other) {
    CHECK(bits(one.mean) == bits(other.mean));
    CHECK(bits(one.standard_deviation) == bits(other.standard_deviation));
    CHECK(bits(one.minimum.floating) == bits(other.minimum.floating));
    CHECK(bits(one.maximum.floating) == bits(other.maximum.floating));
    CHECK(one.minimum.signed_integer == other.minimum.signed_integer);
    CHECK(one.maximum.signed_integer == other.maximum.signed_integer);
    CHECK(one.count == other.count);
}

void check_same(const TensorStatistics& one, const TensorStatistics& other) {
    check_same(one.real.all, other.real.all);
    check_same(one.real.finite, other.real.finite);
    CHECK(one.hash == other.hash);
    CHECK(one.count == other.count);
    CHECK(one.real.nan == other.real.nan);
    CHECK(one.real.negative_infinity == other.real.negative_infinity);
    CHECK(one.real.zeros == other.real.zeros);
    CHECK(one.real.minimum_index == other.real.minimum_index);
    CHECK(one.real.maximum_index == other.real.maximum_index);
    CHECK(one.real.first_nan == other.real.first_nan);
    CHECK(one.real.first_nonfinite == other.real.first_nonfinite);
    CHECK(one.real.sum_low == other.real.sum_low);
    CHECK(one.real.sum_high == other.real.sum_high);
}

struct Shape {
    DType dtype;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;
};

std::vector<Shape> shapes() {
    constexpr auto kPart = static_cast<std::int64_t>(kSharedPartElements);
    return {
        {DType::float32, {2 * kPart}, {1}},
        {DType::float32, {2 * kPart + 1}, {1}},
        {DType::float32, {3 * kPart - 1}, {1}},
        {DType::float32, {20 * kPart + 13}, {1}},
        {DType::float32, {kPart + 5, 3}, {1, kPart + 5}},  // transposed
        {DType::float32, {4 * kPart + 1}, {0}},            // expanded
        {DType::float32, {511, 1021}, {1024, 1}},          // gaps
        {DType::int32, {5 * kPart + 3}, {1}},
        {DType::int64, {3 * kPart + 3}, {1}},
        {DType::complex64, {2 * kPart + 9}, {1}},
        {DType::uint8, {7 * kPart + 1}, {1}},
    };
}

}  // namespace

TEST_CASE("If no thread can be created, the caller does all the work") {
    HostPool& pool = a_pool(refused);
    Counted counted;
    pool.share({Counted::count, &counted, 64}, 16);
    CHECK(counted.each_once(64));
    CHECK(pool.threads() == 0);
}

TEST_CASE("If no more threads can be created the existing ones are used, and no further attempt is made") {
    static int asked = 0;
    asked = 0;
    HostPool& pool = a_pool(
        [](void* (*run)(void*), void* argument) { return ++asked == 1 && start_own_thread(run, argument); });
    Meeting meeting;
    pool.share(meeting.work(), 5);
    Counted counted;
    for (int i = 0; i < 3; ++i) {
        pool.share({Counted::count, &counted, 8}, 5);
    }
    CHECK(counted.times[7] == 3);
    CHECK(pool.threads() == 1);
    CHECK(asked == 2);
}

TEST_CASE("No more threads are created than there is work for, or than are allowed") {
    HostPool& pool = a_pool();
    Counted counted;
    pool.share({Counted::count, &counted, 0}, 16);
    pool.share({Counted::count, &counted, 1}, 16);
    pool.share({Counted::count, &counted, 1}, 0);
    CHECK(counted.times[0] == 2);
    CHECK(pool.threads() == 0);
    pool.share({Counted::count, &counted, 3}, 16);
    CHECK(pool.threads() == 2);
    pool.share({Counted::count, &counted, 64}, 1000);
    CHECK(pool.threads() == HostPool::kMostThreads - 1);
}

TEST_CASE("Statistics do not depend on the number of threads") {
    std::vector<float> data = numbers(21 * kSharedPartElements);
    HostPool& two = a_pool();
    HostPool& five = a_pool();
    for (const Shape& shape : shapes()) {
        for (const Requested requested :
             {Requested::findings, Requested::findings | Requested::printed, kAll}) {
            const TensorView view{data.data(), shape.dtype, shape.sizes, shape.strides};
            INFO(dtype_name(shape.dtype)
                 << " " << shape.sizes[0] << " requested " << static_cast<int>(requested));
            const TensorStatistics alone = measure_shared(view, requested, nullptr, 1);
            for (int round = 0; round < 3; ++round) {
                check_same(measure_shared(view, requested, &two, 2), alone);
                check_same(measure_shared(view, requested, &five, 5), alone);
            }
            const TensorStatistics whole = measure(view, requested);
            CHECK(whole.hash == alone.hash);
            CHECK(whole.real.nan == alone.real.nan);
            CHECK(whole.real.minimum_index == alone.real.minimum_index);
            CHECK(whole.real.finite.count == alone.real.finite.count);
        }
    }
    CHECK(two.threads() == 1);
    CHECK(five.threads() == 4);
}

TEST_CASE("The caller measures a small tensor itself") {
    const std::vector<float> data = numbers(2 * kSharedPartElements - 1);
    const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(data.size())};
    const std::vector<std::int64_t> strides{1};
    const TensorView view{data.data(), DType::float32, sizes, strides};
    HostPool& pool = a_pool();
    check_same(measure_shared(view, kAll, &pool, 16), measure(view, kAll));
    CHECK(pool.threads() == 0);
}

TEST_CASE("A caller that finds the threads busy does its work alone") {
    HostPool& pool = a_pool();
    struct Busy {
        HostPool& pool;
        Counted counted;
        static void share_again(void* context, std::uint32_t) {
            auto& its = *static_cast<Busy*>(context);
            its.pool.share({Counted::count, &its.counted, 64}, 16);
        }
    } busy{pool, {}};
    pool.share({Busy::share_again, &busy, 4}, 4);
    CHECK(busy.counted.times[0] == 4);
    CHECK(busy.counted.times[63] == 4);
}

TEST_CASE("Threads that measure at once all get their own results") {
    const std::vector<float> data = numbers(3 * kSharedPartElements);
    const std::vector<std::int64_t> strides{1};
    HostPool& pool = a_pool();
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (std::int64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(data.size()) - t};
            const TensorView view{data.data(), DType::float32, sizes, strides};
            const std::uint64_t hash = measure(view, Requested::hash).hash;
            for (int i = 0; i < 20; ++i)
                wrong += measure_shared(view, Requested::hash, &pool, 3).hash == hash ? 0 : 1;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("A child that a signal handler forks during the work does the rest alone") {
    static pid_t child = -1;
    HostPool& pool = a_pool();
    struct Work {
        Counted counted;
        pthread_t caller = pthread_self();
        std::atomic<bool> is_over{false};
        static void do_part(void* context, std::uint32_t part) {
            auto& its = *static_cast<Work*>(context);
            if (pthread_equal(its.caller, pthread_self()) != 0) {
                if (!its.is_over.exchange(true)) raise(SIGUSR1);
            } else {
                while (!its.is_over.load())  // so that the child misses this thread's work
                    sched_yield();
            }
            Counted::count(&its.counted, part);
        }
    } work;
    struct sigaction forks {};
    struct sigaction before {};
    forks.sa_handler = [](int) { child = fork(); };
    sigaction(SIGUSR1, &forks, &before);
    pool.share({Work::do_part, &work, 16}, 4);
    sigaction(SIGUSR1, &before, nullptr);
    bool all = true;
    for (std::uint32_t part = 0; part < 16; ++part)
        all = all && work.counted.times[part] != 0;
    if (child == 0) ::_exit(all && pool.threads() == 0 ? 0 : 1);
    CHECK(all);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

// A sanitizer's runtime may hang if a forked child creates threads and exits beside them.
#ifndef AOTI_DBG_SANITIZED
TEST_CASE("A child has none of its parent's threads and creates its own") {
    HostPool& pool = a_pool();
    Counted counted;
    pool.share({Counted::count, &counted, 8}, 4);
    REQUIRE(pool.threads() == 3);
    const int status = in_child([&] {
        if (pool.threads() != 0) ::_exit(1);
        Meeting meeting;
        pool.share(meeting.work(), 2);
        if (pool.threads() != 1) ::_exit(2);
    });
    CHECK(status == 0);
    Meeting meeting;
    pool.share(meeting.work(), 2);
    CHECK(pool.threads() == 3);
}

TEST_CASE("The exit of a process does not wait for its threads") {
    const int status = in_child([] {
        alarm(60);
        HostPool& pool = a_pool();
        Meeting meeting;
        meeting.in_ours = [](Meeting&) {
            for (;;)
                pause();
        };
        std::thread([&] { pool.share(meeting.work(), 2); }).detach();
        while (meeting.present.load() < 2)
            sched_yield();
        ::exit(7);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
}
#endif

TEST_CASE("Our threads block the program's signals, except faults of their own reads") {
    HostPool& pool = a_pool();
    Meeting meeting;
    meeting.in_ours = [](Meeting& its) {
        pthread_sigmask(SIG_SETMASK, nullptr, &its.blocked);
        pthread_getname_np(pthread_self(), its.name, sizeof its.name);
    };
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    pool.share(meeting.work(), 2);
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int number = 1; number <= SIGRTMAX; ++number)
        CHECK(sigismember(&before, number) == sigismember(&after, number));
    for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD, SIGALRM, SIGPROF, SIGRTMIN, SIGRTMAX})
        CHECK(sigismember(&meeting.blocked, number) == 1);
    CHECK(sigismember(&meeting.blocked, SIGSEGV) == 0);
    CHECK(sigismember(&meeting.blocked, SIGBUS) == 0);
    CHECK(std::string(meeting.name) == "aoti-dbg");
}

TEST_CASE("The caller's errno and floating-point state stay, and no result depends on them") {
    const std::vector<float> data = numbers(2 * kSharedPartElements);
    const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(data.size())};
    const std::vector<std::int64_t> strides{1};
    const TensorView view{data.data(), DType::float32, sizes, strides};
    const TensorStatistics usual = measure_shared(view, kAll, nullptr, 1);
    HostPool& pool = a_pool(refused);
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    errno = ENOTTY;
    const TensorStatistics upward = measure_shared(view, kAll, &pool, 4);
    CHECK(errno == ENOTTY);
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
    CHECK(fegetround() == FE_UPWARD);
    fesetround(FE_TONEAREST);
    check_same(upward, usual);
}

TEST_CASE("No pool has more threads than the process allows itself") {
    // The first call reads the environment, so each case has a process of its own.
    const auto allowed = [](const char* threads, const char* limit, std::uint32_t wants) {
        const int status = in_child([&] {
            threads == nullptr ? unsetenv("OMP_NUM_THREADS") : setenv("OMP_NUM_THREADS", threads, 1);
            limit == nullptr ? unsetenv("OMP_THREAD_LIMIT") : setenv("OMP_THREAD_LIMIT", limit, 1);
            ::_exit(static_cast<int>(allowed_threads(wants)));
        });
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    const int all = allowed(nullptr, nullptr, 0);
    CHECK(all >= 1);
    CHECK(allowed("1", nullptr, 0) == 1);
    CHECK(allowed(" 1,4", nullptr, 8) == 1);
    CHECK(allowed("8", "1", 0) == 1);
    CHECK(allowed(nullptr, nullptr, 1) == 1);
    for (const char* nonsense : {"", "0", "-2", "many", "99999999999999"})
        CHECK(allowed(nonsense, nonsense, 0) == all);
    CHECK(allowed("2", "100000", 3) == std::min(all, 2));
}

TEST_CASE("A thread that is bound to one processor measures alone") {
    const int status = in_child([] {
        cpu_set_t all;
        if (sched_getaffinity(0, sizeof all, &all) != 0) ::_exit(99);
        int first = 0;
        while (!CPU_ISSET(first, &all))
            ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0) ::_exit(98);
        unsetenv("OMP_NUM_THREADS");
        unsetenv("OMP_THREAD_LIMIT");
        ::_exit(static_cast<int>(allowed_threads(0)));
    });
    CHECK(status == 1 << 8);
}

}  // namespace aoti_dbg
