// The queue between the launching threads and the writer. Full, empty and wrapped queues come first, then the
// order of calls, then many threads at once.
#include "shim/measure/event_queue.hpp"

#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

namespace aoti_dbg::event_queue_test {
namespace {

// More than either of its rings can have.
constexpr std::uint64_t kTooMany = 1U << 17U;

/// A call and its arguments, each identified by its number.
struct Made {
    SeenCall call;
    SeenArguments arguments;

    Made(std::uint64_t thread, std::uint64_t number, std::size_t count) {
        call.call.thread = thread;
        call.call.sequence = number;
        for (std::size_t i = 0; i < count; ++i) {
            SeenArgument& argument = arguments.list.emplace_back();
            argument.address = address_of(thread, number, i);
            argument.on_host = arguments.on_host.emplace_back(std::make_unique<MeasuredOnHost>()).get();
            argument.text = static_cast<std::uint32_t>(i);
            arguments.texts.push_back(ShortText(std::to_string(number + i)));
        }
    }
    static std::uint64_t address_of(std::uint64_t thread, std::uint64_t number, std::size_t argument) {
        return thread << 48U | number << 16U | argument;
    }
};

bool put(EventQueue& queue, std::uint64_t thread, std::uint64_t number, std::size_t count) {
    Made made(thread, number, count);
    const bool is_put = queue.put(made.call, made.arguments);
    // Either all arguments are moved out, or all are left for another try.
    if (made.arguments.list.size() != (is_put ? 0 : count)) FAIL("arguments were taken in part");
    return is_put;
}

struct Taken {
    std::uint64_t thread = 0;
    std::uint64_t number = 0;
    std::size_t arguments = 0;
    bool is_whole = true;  // each argument is the one put there, once
};

std::optional<Taken> take(EventQueue& queue) {
    const auto [call, arguments, texts] = queue.take();
    if (call == nullptr) {
        if (!arguments.empty() || !texts.empty()) FAIL("arguments of no call");
        return std::nullopt;
    }
    Taken taken{call->call.thread, call->call.sequence, arguments.size()};
    taken.is_whole = texts.size() == arguments.size();
    for (std::size_t i = 0; i < arguments.size() && taken.is_whole; ++i) {
        taken.is_whole = texts[arguments[i].text].view() == std::to_string(taken.number + i) &&
                         arguments[i].on_host != nullptr &&
                         arguments[i].address == Made::address_of(taken.thread, taken.number, i);
    }
    return taken;
}

/// The number of calls with so many arguments until it is full.
std::uint64_t fill(EventQueue& queue, std::uint64_t first, std::size_t arguments) {
    std::uint64_t number = first;
    while (number - first < kTooMany && put(queue, 0, number, arguments))
        ++number;
    return number - first;
}

}  // namespace

TEST_CASE("An empty queue gives nothing, however often it is asked") {
    EventQueue queue;
    CHECK_FALSE(take(queue));
    CHECK(queue.puts() == 0);
    CHECK(put(queue, 1, 1, 2));
    CHECK(take(queue));
    CHECK_FALSE(take(queue));
    CHECK_FALSE(take(queue));
    CHECK(queue.puts() == 1);
}

TEST_CASE("A full queue takes nothing, loses nothing, and has room again as soon as a call is taken") {
    EventQueue queue;
    // Full of calls, and full of arguments.
    const std::size_t arguments = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{64});
    CAPTURE(arguments);
    const std::uint64_t count = fill(queue, 0, arguments);
    REQUIRE(count > 0);
    REQUIRE(count < kTooMany);
    CHECK_FALSE(put(queue, 0, count, arguments));
    CHECK(queue.puts() == count);
    REQUIRE(take(queue));
    // The reader has a batch of its own by now.
    CHECK(fill(queue, count, arguments) == count);
    CHECK_FALSE(put(queue, 0, 2 * count, arguments));
    for (std::uint64_t number = 1; number < 2 * count; ++number) {
        const std::optional<Taken> taken = take(queue);
        if (!taken || taken->number != number || taken->arguments != arguments || !taken->is_whole)
            FAIL("call " << number << " is lost, out of order, or not whole");
    }
    CHECK_FALSE(take(queue));
}

TEST_CASE("Without room for arguments, a call without any still fits and keeps its place") {
    EventQueue queue;
    const std::uint64_t count = fill(queue, 0, 60);
    REQUIRE(put(queue, 0, count, 0));
    for (std::uint64_t number = 0; number < count; ++number)
        REQUIRE(take(queue));
    const std::optional<Taken> last = take(queue);
    REQUIRE(last);
    CHECK(last->number == count);
    CHECK(last->arguments == 0);
}

TEST_CASE("A call with more arguments than the queue has places is refused, and others are not") {
    EventQueue queue;
    CHECK_FALSE(put(queue, 0, 1, kTooMany));
    CHECK(queue.puts() == 0);
    CHECK(put(queue, 0, 2, 3));
    const std::optional<Taken> taken = take(queue);
    REQUIRE(taken);
    CHECK(taken->number == 2);
    CHECK(taken->is_whole);
}

TEST_CASE("Calls come out in order, many times around both rings, at any filling") {
    EventQueue queue;
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    std::uint64_t refused = 0;
    const auto arguments_of = [](std::uint64_t number) { return static_cast<std::size_t>(number % 37); };
    for (int round = 0; round < 60; ++round) {
        // Every third round fills the queue, and the others drain it in part.
        for (int i = 0; i < (round % 3 == 2 ? 9000 : 1000); ++i) {
            if (put(queue, 0, in, arguments_of(in))) {
                ++in;
            } else {
                ++refused;
            }
        }
        const std::uint64_t stay = round % 3 == 2 ? 0 : 300;
        while (in - out > stay) {
            const std::optional<Taken> taken = take(queue);
            if (!taken || taken->number != out || taken->arguments != arguments_of(out) || !taken->is_whole)
                FAIL("call " << out << " is lost, out of order, or not whole");
            ++out;
        }
    }
    CHECK_FALSE(take(queue));
    CHECK(refused > 0);
    CHECK(in > 60000);
    CHECK(queue.puts() == in);
}

TEST_CASE("The next call can be peeked at, and is the one that was put, if it is available") {
    EventQueue queue;
    CHECK(queue.peek().call == nullptr);
    REQUIRE(put(queue, 3, 1, 2));
    REQUIRE(put(queue, 3, 2, 5));
    REQUIRE(take(queue));
    const EventQueue::Taken next = queue.peek();
    REQUIRE(next.call != nullptr);
    CHECK(next.call->call.sequence == 2);
    CHECK(next.arguments.size() == 5);
    CHECK(take(queue)->number == 2);
    CHECK(queue.peek().call == nullptr);
}

TEST_CASE("Scalars of every kind come out as they were put") {
    EventQueue queue;
    const ArgumentFacts facts;
    SeenArguments arguments;
    arguments.add_scalar(facts, std::int64_t{-1});
    arguments.add_scalar(facts, ShortText("first"));
    arguments.add_scalar(facts, ~std::uint64_t{0});
    arguments.add_scalar(facts, 2.5);
    arguments.add_scalar(facts, -std::numeric_limits<double>::infinity());
    arguments.add_scalar(facts, ShortText("second"));
    REQUIRE(queue.put({}, arguments));
    const EventQueue::Taken taken = queue.take();
    std::vector<std::string> texts;
    for (const SeenArgument& argument : taken.arguments)
        texts.emplace_back(text_of(argument, taken.texts).view());
    CHECK(texts == std::vector<std::string>{"-1", "first", "18446744073709551615", "2.5", "-inf", "second"});
}

TEST_CASE("A taken call stays in place while others are put, until the next take") {
    EventQueue queue;
    REQUIRE(put(queue, 0, 1, 3));
    const auto [call, arguments, texts] = queue.take();
    REQUIRE(call != nullptr);
    CHECK(fill(queue, 2, 9) > 0);
    CHECK(call->call.sequence == 1);
    REQUIRE(arguments.size() == 3);
    CHECK(arguments[2].address == Made::address_of(0, 1, 2));
}

TEST_CASE("With many threads every call comes out whole, once, and in its thread's own order") {
    constexpr std::uint64_t kThreads = 4;
    constexpr std::uint64_t kCalls = 8000;
    EventQueue queue;
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&queue, thread] {
            for (std::uint64_t number = 0; number < kCalls; ++number) {
                Made made(thread, number, (thread + number) % 9);
                while (!queue.put(made.call, made.arguments))
                    std::this_thread::yield();
            }
        });
    }
    std::vector<std::uint64_t> next(kThreads, 0);
    std::uint64_t wrong = 0;
    for (std::uint64_t seen = 0; seen < kThreads * kCalls;) {
        // A reader that sees so many puts can take as many.
        const std::uint64_t puts = queue.puts();
        for (; seen < puts; ++seen) {
            const std::optional<Taken> taken = take(queue);
            if (!taken || taken->thread >= kThreads) {
                ++wrong;
                continue;
            }
            const bool in_order = taken->number == next[taken->thread]++;
            const bool is_right = taken->arguments == (taken->thread + taken->number) % 9;
            if (!in_order || !is_right || !taken->is_whole) ++wrong;
        }
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(wrong == 0);
    CHECK(next == std::vector<std::uint64_t>(kThreads, kCalls));
    CHECK_FALSE(take(queue));
}

}  // namespace aoti_dbg::event_queue_test
