// The numbers of launches: each context counts its own, from any thread, and a launch without a context has
// none.
#include "shim/runtime/launch_count.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/driver_table.hpp"
#include "shim/runtime/event_handlers.hpp"
#include "tests/support/catch.hpp"

namespace {

thread_local void* t_context = nullptr;
std::atomic<int> g_result{0};
std::atomic<int> g_stream_result{0};
std::atomic<int> g_device{0};
// Null: the driver has no green contexts. Otherwise, the context that numbers every stream's launches.
void* g_numbering = nullptr;

CUresult get_current(CUcontext* context) {
    *context = static_cast<CUcontext>(t_context);
    return static_cast<CUresult>(g_result.load());
}

/// A stream has the address of its context.
CUresult get_stream_context(CUstream stream, CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(stream);
    return static_cast<CUresult>(g_stream_result.load());
}

CUresult get_stream_context_of_either_kind(CUstream stream, CUcontext* context, CUgreenCtx* green) {
    if (g_numbering == nullptr) return get_stream_context(stream, context);
    *context = static_cast<CUcontext>(g_numbering);
    *green = reinterpret_cast<CUgreenCtx>(stream);
    return CUDA_SUCCESS;
}

/// Memory of device n starts at n times 0x1000, and page 0xf is host memory.
CUresult get_pointer_attribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    constexpr std::uint64_t kHost = 0xf;
    const std::uint64_t page = address >> 12U;
    if (page > kHost) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<unsigned*>(value) = static_cast<unsigned>(page);
    if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *static_cast<unsigned*>(value) = page == kHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

CUresult get_device(CUdevice* device) {
    *device = g_device;
    return static_cast<CUresult>(g_result.load());
}

}  // namespace

namespace aoti_dbg {

// The driver functions that counting calls.
void* other_driver_function(const char* name) {
    const std::string_view asked = name;
    if (asked == "cuCtxGetDevice") return reinterpret_cast<void*>(&get_device);
    if (asked == "cuStreamGetCtx") return reinterpret_cast<void*>(&get_stream_context);
    if (asked == "cuStreamGetCtx_v2") return reinterpret_cast<void*>(&get_stream_context_of_either_kind);
    if (asked == "cuPointerGetAttribute") return reinterpret_cast<void*>(&get_pointer_attribute);
    return reinterpret_cast<void*>(&get_current);
}

namespace {

void* context(std::size_t number) {
    static char places[100];
    return &places[number];
}

std::uint64_t memory_of(std::uint64_t device) {
    return device << 12U;
}

constexpr std::uint64_t kHostMemory = 0xf000;
constexpr std::uint64_t kNobodysMemory = 0xffff0000;

/// Resets the counts, as in a process of its own.
struct Counting {
    explicit Counting(void* current = context(0)) {
        for (std::size_t i = 0; i < 100; ++i)
            forget_launch_counts(context(i));
        g_counts_launches = true;
        g_result = 0;
        g_device = 0;
        t_context = current;
    }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
    ~Counting() { g_counts_launches = false; }
};

// This comes first because later tests launch.
TEST_CASE("Before any launch, the time since the last one is the maximum") {
    CHECK(since_last_launch() == std::numeric_limits<std::uint64_t>::max());
    const Counting counting;
    CHECK(next_launch_number().kernel == 1);
    CHECK(since_last_launch() < std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("Without a context, or if the driver does not say which, nothing has a number") {
    const Counting counting(nullptr);
    CHECK(next_launch_number().kernel == 0);
    count_copy(memory_of(0), memory_of(0));
    t_context = context(0);
    g_result = 4;
    CHECK(next_launch_number().kernel == 0);
    g_result = 0;
    CHECK(next_launch_number().kernel == 1);
}

TEST_CASE("Nothing is counted unless faults are watched for") {
    const Counting counting;
    g_counts_launches = false;
    CHECK(next_launch_number().kernel == 0);
    count_copy(memory_of(0), memory_of(0));
    count_fill(1 << 20, 1, 0);
    g_counts_launches = true;
    CHECK(next_launch_number().kernel == 1);
}

TEST_CASE("Each context counts separately, and a destroyed one restarts") {
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
}

TEST_CASE("The reset of a device restarts its contexts and leaves the others alone") {
    const Counting counting;
    note_context(context(0), 0);
    note_context(context(1), 1);
    CHECK(next_launch_number(context(0)).kernel == 1);
    CHECK(next_launch_number(context(1)).kernel == 1);
    event_handlers::g_are_complete = true;
    forget_launch_counts_of(1);
    CHECK_FALSE(event_handlers::g_are_complete);
    CHECK(next_launch_number(context(0)).kernel == 2);
    CHECK(numbered_context(number_of_context(context(0))).handle != 0);
    CHECK(numbered_context(number_of_context(context(1))).handle == 0);
    // It returns at the same address, with threads of its own.
    event_handlers::g_are_complete = true;
    note_context(context(1), 1);
    CHECK_FALSE(event_handlers::g_are_complete);
    CHECK(next_launch_number(context(1)).kernel == 1);
}

TEST_CASE("A context has an id of its own, which gives its handle and device") {
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
    // Known facts change nothing.
    const std::uint32_t changes = context_changes();
    CHECK(next_launch_number().context == second);
    CHECK(context_changes() == changes);
    // Another context at the same address may be of another device.
    forget_launch_counts(context(1));
    CHECK(numbered_context(second).handle == 0);
    g_device = 0;
    CHECK(next_launch_number().context == second);
    CHECK(numbered_context(second).device == 0);
    CHECK(context_changes() != changes);
    g_counts_launches = false;
    CHECK(context_number() == 0);
}

TEST_CASE("Work on a stream counts in the stream's context, whatever the thread's context is") {
    const Counting counting;
    note_context(context(0), 4);
    note_context(context(1), 7);
    const std::uint8_t own = number_of_context(context(0));
    const std::uint8_t other = number_of_context(context(1));
    CHECK(numbered_context(other).device == 7);
    const void* const stream = context(1);  // see get_stream_context
    CHECK(context_number(stream) == other);
    CHECK(next_launch_number(stream).kernel == 1);
    count_copy(memory_of(7), memory_of(7), stream);
    count_fill(16384, 1, 0, stream);
    const LaunchNumber refused = next_launch_number(stream);
    CHECK(refused.kernel == 4);
    CHECK(refused.context == other);
    take_back(refused);
    CHECK(next_launch_number(stream).kernel == 4);
    CHECK(next_launch_number().kernel == 1);
    // The streams that every context has, and one that the driver knows nothing about.
    for (const std::uintptr_t handle : {0, 1, 2})
        CHECK(next_launch_number(reinterpret_cast<const void*>(handle)).context == own);
    g_stream_result = 400;
    CHECK(next_launch_number(stream).context == own);
    g_stream_result = 0;
}

TEST_CASE("A graph counts at its first launch, and in the context of its stream") {
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

TEST_CASE("A launch on a green context's stream counts where the driver says that it is numbered") {
    const Counting counting;
    note_context(context(0), 0);
    note_context(context(1), 1);
    g_numbering = context(1);
    const LaunchNumber launch = next_launch_number(context(5));
    g_numbering = nullptr;
    CHECK(launch.context == number_of_context(context(1)));
    CHECK(number_of_context(context(5)) == 0);
}

TEST_CASE(
    "A copy within one device counts as a kernel there, and a copy to another device or the host does not") {
    const Counting counting;
    note_context(context(0), 0);
    note_context(context(1), 1);
    const void* const stream = context(0);
    for (const std::uint64_t other : {memory_of(1), kHostMemory, kNobodysMemory}) {
        count_copy(memory_of(0), other, stream);
        count_copy(other, memory_of(0), stream);
    }
    count_copy(kHostMemory, kHostMemory, stream);
    CHECK(next_launch_number(stream).kernel == 1);
    count_copy(memory_of(0), memory_of(0) + 8, stream);
    CHECK(next_launch_number(stream).kernel == 3);
    // Neither side is on the stream's device.
    count_copy(memory_of(1), memory_of(1) + 8, stream);
    CHECK(next_launch_number(stream).kernel == 4);
    CHECK(next_launch_number(context(1)).kernel == 2);
    // No context exists there.
    count_copy(memory_of(3), memory_of(3) + 8, stream);
    CHECK(next_launch_number(stream).kernel == 5);
}

TEST_CASE("A fill is a kernel if it exceeds a page or has gaps between its rows") {
    const Counting counting;
    for (const std::size_t bytes : {0, 1, 4096})
        count_fill(bytes, 1, 0);
    count_fill(64, 64, 64);
    count_fill(0, 2, 512);
    count_fill(16, 1, 512);
    CHECK(next_launch_number().kernel == 1);
    count_fill(4097, 1, 0);
    CHECK(next_launch_number().kernel == 3);
    count_fill(256, 64, 256);
    CHECK(next_launch_number().kernel == 5);
    count_fill(4, 2, 512);
    CHECK(next_launch_number().kernel == 7);
}

TEST_CASE("Threads that launch in one context never share a number, and none is skipped") {
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

// This comes last because it uses up all places.
TEST_CASE("If there are too many contexts, the first have numbers and the others none") {
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
