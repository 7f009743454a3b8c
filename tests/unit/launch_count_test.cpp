// The numbers of launches: each context has its own, from whatever threads they come, and what has none has
// none.
#include "shim/observe/launch_count.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include "shim/bind/driver_table.hpp"
#include "tests/support/catch.hpp"

namespace {

thread_local void* t_context = nullptr;
std::atomic<int> g_result{0};
std::atomic<int> g_stream_result{0};
std::atomic<int> g_device{0};

int get_current(void** context) {
    *context = t_context;
    return g_result;
}

/// A stream is one of its context's places.
int get_stream_context(const void* stream, void** context) {
    *context = const_cast<void*>(stream);
    return g_stream_result;
}

int get_device(int* device) {
    *device = g_device;
    return g_result;
}

}  // namespace

namespace aoti_dbg {

// The driver: nothing else is asked of it.
void* other_driver_function(const char* name) {
    if (std::string_view(name) == "cuCtxGetDevice") return reinterpret_cast<void*>(&get_device);
    if (std::string_view(name) == "cuStreamGetCtx") return reinterpret_cast<void*>(&get_stream_context);
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
    CHECK(next_launch_number().kernel == 1);
    CHECK(since_last_launch() < std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("Without a context, or where the driver does not say which, nothing has a number") {
    const Counting counting(nullptr);
    CHECK(next_launch_number().kernel == 0);
    count_copy_on_device();
    t_context = context(0);
    g_result = 4;
    CHECK(next_launch_number().kernel == 0);
    g_result = 0;
    CHECK(next_launch_number().kernel == 1);
}

TEST_CASE("Nothing is counted while nobody watches for faults") {
    const Counting counting;
    g_counts_launches = false;
    CHECK(next_launch_number().kernel == 0);
    count_copy_on_device();
    count_fill(1 << 20);
    g_counts_launches = true;
    CHECK(next_launch_number().kernel == 1);
}

TEST_CASE("Each context counts for itself, and one that is gone begins anew") {
    const Counting counting;
    CHECK(next_launch_number().kernel == 1);
    CHECK(next_launch_number().kernel == 2);
    t_context = context(1);
    CHECK(next_launch_number().kernel == 1);
    t_context = context(0);
    CHECK(next_launch_number().kernel == 3);
    forget_launch_counts(context(0));
    CHECK(next_launch_number().kernel == 1);
    t_context = context(1);
    CHECK(next_launch_number().kernel == 2);
    forget_launch_counts(nullptr);
    CHECK(next_launch_number().kernel == 1);
}

TEST_CASE("A context has a number of its own, under which it and its device are known") {
    const Counting counting;
    g_device = 3;
    const std::uint8_t first = next_launch_number().context;
    CHECK(numbered_context(first).handle == reinterpret_cast<std::uintptr_t>(context(0)));
    CHECK(numbered_context(first).device == 3);
    g_device = 5;
    t_context = context(1);
    const std::uint8_t second = context_number();
    CHECK(first != second);
    CHECK(numbered_context(second).device == 5);
    CHECK(number_of_context(context(0)) == first);
    CHECK(number_of_context(context(99)) == 0);
    CHECK(number_of_context(nullptr) == 0);
    CHECK(numbered_context(0).handle == 0);
    CHECK(numbered_context(65).handle == 0);
    // What is known already changes nothing.
    const std::uint32_t changes = context_changes();
    CHECK(next_launch_number().context == second);
    CHECK(context_changes() == changes);
    // Another context at the same place may be of another device.
    forget_launch_counts(context(1));
    CHECK(numbered_context(second).handle == 0);
    g_device = 0;
    CHECK(next_launch_number().context == second);
    CHECK(numbered_context(second).device == 0);
    CHECK(context_changes() != changes);
    g_counts_launches = false;
    CHECK(context_number() == 0);
}

TEST_CASE("What is handed to a stream counts in the stream's context, whichever is the thread's") {
    const Counting counting;
    note_context(context(0), 4);
    note_context(context(1), 7);
    const std::uint8_t own = number_of_context(context(0));
    const std::uint8_t other = number_of_context(context(1));
    CHECK(numbered_context(other).device == 7);
    const void* const stream = context(1);  // see get_stream_context
    CHECK(context_number(stream) == other);
    CHECK(next_launch_number(stream).kernel == 1);
    count_copy_on_device(stream);
    count_fill(16384, stream);
    const LaunchNumber refused = next_launch_number(stream);
    CHECK(refused.kernel == 4);
    CHECK(refused.context == other);
    take_back(refused);
    CHECK(next_launch_number(stream).kernel == 4);
    CHECK(next_launch_number().kernel == 1);
    // Streams that every context has, and one of which the driver says nothing.
    for (const std::uintptr_t handle : {0, 1, 2})
        CHECK(next_launch_number(reinterpret_cast<const void*>(handle)).context == own);
    g_stream_result = 400;
    CHECK(next_launch_number(stream).context == own);
    g_stream_result = 0;
}

TEST_CASE("A graph counts when it is launched for the first time, and in the context of its stream") {
    const Counting counting;
    note_context(context(0), 0);
    note_context(context(1), 1);
    char graphs[2];
    const void* const stream = context(1);
    const LaunchNumber launch = graph_launch_number(&graphs[0], stream);
    CHECK(launch.kernel == 0);
    CHECK(launch.context == number_of_context(context(1)));
    CHECK(next_launch_number(stream).kernel == 2);
    graph_launch_number(&graphs[0], stream);
    CHECK(next_launch_number(stream).kernel == 3);
    graph_launch_number(&graphs[1], stream);
    CHECK(next_launch_number(stream).kernel == 5);
    CHECK(next_launch_number().kernel == 1);
    g_counts_launches = false;
    CHECK(graph_launch_number(&graphs[0], stream).context == 0);
    note_context(context(50), 0);
    CHECK(number_of_context(context(50)) == 0);
}

TEST_CASE("A copy on the device is a kernel whatever its size, a fill only of more than a page") {
    const Counting counting;
    count_copy_on_device();
    CHECK(next_launch_number().kernel == 2);
    for (const std::size_t bytes : {0, 1, 4096})
        count_fill(bytes);
    CHECK(next_launch_number().kernel == 3);
    count_fill(16384);
    CHECK(next_launch_number().kernel == 5);
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
                numbers[thread * kEach + i] = next_launch_number().kernel;
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
        const std::uint32_t number = next_launch_number().kernel;
        CHECK(number <= 1);
        counted += number;
    }
    CHECK(counted == 64);
    t_context = context(0);
    CHECK(next_launch_number().kernel == 2);
}

}  // namespace
}  // namespace aoti_dbg
