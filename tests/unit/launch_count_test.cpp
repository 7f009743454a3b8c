// The numbers of launches: each context has its own, from whatever threads they come, and what has none has
// none.
#include "shim/observe/launch_count.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include "shim/bind/driver_table.hpp"
#include "tests/support/catch.hpp"

namespace {

thread_local void* t_context = nullptr;
std::atomic<int> g_result{0};

int get_current(void** context) {
    *context = t_context;
    return g_result;
}

}  // namespace

namespace aoti_dbg {

// The driver: nothing else is asked of it.
void* other_driver_function(const char* /*name*/) {
    return reinterpret_cast<void*>(&get_current);
}

namespace {

void* context(std::size_t number) {
    static char places[100];
    return &places[number];
}

/// As in a process of its own.
struct Counting {
    explicit Counting(void* current = context(0)) {
        forget_launch_counts(nullptr);
        g_counts_launches = true;
        g_result = 0;
        t_context = current;
    }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
    ~Counting() { g_counts_launches = false; }
};

// First: later on there was one.
TEST_CASE("Before any launch the last one was never") {
    CHECK(since_last_launch() == std::numeric_limits<std::uint64_t>::max());
    const Counting counting;
    CHECK(next_launch_number() == 1);
    CHECK(since_last_launch() < std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("Without a context, or where the driver does not say which, nothing has a number") {
    const Counting counting(nullptr);
    CHECK(next_launch_number() == 0);
    count_copy_on_device();
    t_context = context(0);
    g_result = 4;
    CHECK(next_launch_number() == 0);
    g_result = 0;
    CHECK(next_launch_number() == 1);
}

TEST_CASE("Nothing is counted while nobody watches for faults") {
    const Counting counting;
    g_counts_launches = false;
    CHECK(next_launch_number() == 0);
    count_copy_on_device();
    count_fill(1 << 20);
    g_counts_launches = true;
    CHECK(next_launch_number() == 1);
}

TEST_CASE("Each context counts for itself, and one that is gone begins anew") {
    const Counting counting;
    CHECK(next_launch_number() == 1);
    CHECK(next_launch_number() == 2);
    t_context = context(1);
    CHECK(next_launch_number() == 1);
    t_context = context(0);
    CHECK(next_launch_number() == 3);
    forget_launch_counts(context(0));
    CHECK(next_launch_number() == 1);
    t_context = context(1);
    CHECK(next_launch_number() == 2);
    forget_launch_counts(nullptr);
    CHECK(next_launch_number() == 1);
}

TEST_CASE("A copy on the device is a kernel whatever its size, a fill only of more than a page") {
    const Counting counting;
    count_copy_on_device();
    CHECK(next_launch_number() == 2);
    for (const std::size_t bytes : {0, 1, 4096})
        count_fill(bytes);
    CHECK(next_launch_number() == 3);
    count_fill(16384);
    CHECK(next_launch_number() == 5);
}

TEST_CASE("Threads that launch in one context never get the same number, and none is left out") {
    const Counting counting;
    constexpr std::size_t kThreads = 4;
    constexpr std::size_t kEach = 5000;
    std::vector<std::uint32_t> numbers(kThreads * kEach);
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&numbers, thread] {
            t_context = context(2);
            for (std::size_t i = 0; i < kEach; ++i)
                numbers[thread * kEach + i] = next_launch_number();
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < numbers.size(); ++i)
        REQUIRE(numbers[i] == i + 1);
}

// Last: the places are taken then.
TEST_CASE("Of more contexts than there is room for, the first have numbers and the others none") {
    const Counting counting;
    std::size_t counted = 0;
    for (std::size_t i = 0; i < 100; ++i) {
        t_context = context(i);
        const std::uint32_t number = next_launch_number();
        CHECK(number <= 1);
        counted += number;
    }
    CHECK(counted == 64);
    t_context = context(0);
    CHECK(next_launch_number() == 2);
}

}  // namespace
}  // namespace aoti_dbg
