// Two threads that share the writing of calls. Failures and small batches come first, then the order of calls
// in batches of any size.
#include "shim/measure/shared_writing.hpp"

#include <pthread.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

using namespace aoti_dbg;

namespace {

constexpr std::size_t kMany = 10 * SharedWriting::kCallsWorthSharing;

void put(EventQueue& queue, std::uint64_t number) {
    SeenCall call;
    call.call.sequence = number;
    SeenArguments arguments;
    for (std::uint64_t i = 0; i < number % 4; ++i)
        arguments.list.emplace_back().address = number;
    while (!queue.put(call, arguments))
        std::this_thread::yield();
}

/// Takes what is in the queue, as the collecting thread does. Returns false if the writing has failed.
bool take_all(EventQueue& queue, SharedWriting& writing) {
    for (;;) {
        const bool is_new_batch = queue.left() == 0;
        if (is_new_batch && !writing.finish_batch()) return false;
        const EventQueue::Taken taken = queue.take();
        if (taken.call == nullptr) return true;
        if (is_new_batch) writing.begin_batch();
        writing.take(taken);
    }
}

/// What was written, and the threads that wrote it.
struct Written {
    std::vector<std::uint64_t> numbers;
    std::vector<pthread_t> threads;
    bool is_whole = true;

    void take(const EventQueue::Taken& taken) {
        numbers.push_back(taken.call->call.sequence);
        threads.push_back(pthread_self());
        if (taken.arguments.size() != numbers.back() % 4) is_whole = false;
        for (const SeenArgument& argument : taken.arguments)
            if (argument.address != numbers.back()) is_whole = false;
    }
    [[nodiscard]] std::size_t by_this_thread() const {
        std::size_t count = 0;
        for (const pthread_t thread : threads)
            count += pthread_equal(thread, pthread_self()) != 0 ? 1 : 0;
        return count;
    }
};

}  // namespace

TEST_CASE("A failure of the other thread ends the collecting") {
    EventQueue queue;
    SharedWriting writing(queue, [](const EventQueue::Taken& taken) {
        if (taken.call->call.sequence == kMany / 2) throw std::runtime_error("no memory");
    });
    for (std::uint64_t i = 0; i < kMany; ++i)
        put(queue, i);
    CHECK_FALSE(take_all(queue, writing));
    CHECK(writing.done() == kMany / 2);
    CHECK_FALSE(writing.wait_for_progress());
    writing.end();
}

TEST_CASE("Without calls no thread starts, and the end does not wait") {
    EventQueue queue;
    SharedWriting writing(queue, [](const EventQueue::Taken&) {});
    CHECK(take_all(queue, writing));
    CHECK_FALSE(writing.wait_for_progress());
    writing.end();
    CHECK(writing.done() == 0);
}

TEST_CASE("The collecting thread writes a small batch itself, also after a large one") {
    EventQueue queue;
    Written written;
    SharedWriting writing(queue, [&](const EventQueue::Taken& taken) { written.take(taken); });
    std::uint64_t number = 0;
    for (const std::size_t count : {SharedWriting::kCallsWorthSharing - 1, kMany, std::size_t{1}}) {
        for (std::size_t i = 0; i < count; ++i)
            put(queue, number++);
        REQUIRE(take_all(queue, writing));
    }
    writing.end();
    CHECK(written.numbers.size() == number);
    CHECK(written.by_this_thread() == SharedWriting::kCallsWorthSharing);
}

TEST_CASE("Calls are written once and in order while others arrive") {
    constexpr std::uint64_t kCalls = 20000;
    EventQueue queue;
    Written written;
    SharedWriting writing(queue, [&](const EventQueue::Taken& taken) { written.take(taken); });
    std::thread producer([&] {
        for (std::uint64_t i = 0; i < kCalls; ++i) {
            put(queue, i);
            // Batches of all sizes come about.
            if (i % 1000 < 50) std::this_thread::yield();
        }
    });
    while (writing.done() < kCalls)
        REQUIRE(take_all(queue, writing));
    producer.join();
    writing.end();
    REQUIRE(written.numbers.size() == kCalls);
    for (std::uint64_t i = 0; i < kCalls; ++i)
        if (written.numbers[i] != i) FAIL("call " << i << " is out of order");
    CHECK(written.is_whole);
}
