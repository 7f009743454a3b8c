// The thunk sits between a caller and a function, unknown to both. Every argument, result, exception and
// errno must come through, whatever the signature.
#include <pthread.h>
#include <ucontext.h>

#include <cerrno>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/shim_fixture.hpp"

namespace aoti_dbg::test::thunk_test {
namespace {

template <std::size_t>
using Long = long;

/// A function of as many integer arguments as there are indices: the sum of each times its position.
template <std::size_t... I>
long weigh(Long<I>... values) {
    const long all[] = {values..., 0};
    long sum = 0;
    for (std::size_t i = 0; i < sizeof...(I); ++i)
        sum += all[i] * static_cast<long>(i + 1);
    return sum;
}

template <std::size_t... I>
void check_many(std::index_sequence<I...> /*indices*/, std::int32_t stack_words) {
    auto* stub = stub_before(&weigh<I...>, "weigh" + std::to_string(sizeof...(I)), stack_words);
    CHECK(stub(static_cast<long>(I * 7 + 1)...) == weigh<I...>(static_cast<long>(I * 7 + 1)...));
}

double mixed(int a, double b, const char* c, float d, long e, long f, long g, long h, double i, double j,
             double k, double l, double m, double n, double o, short p) {
    return a + b * 2 + (c != nullptr ? c[0] : 0) + d * 4 + static_cast<double>(e + f * 2 + g * 3 + h * 5) +
           i * 6 + j * 7 + k * 8 + l * 9 + m * 10 + n * 11 + o * 12 + p * 13;
}

struct Pair {
    long one;
    double two;
};
Pair make_pair_of(long one, double two) {
    return {one + 1, two * 2};
}

int throwing(int value) {
    if (value < 0) throw std::runtime_error("negative");
    return value;
}

int errno_setting(int value) {
    const int before = errno;
    errno = value;
    return before;
}

}  // namespace

TEST_CASE("A function whose thousand arguments lie on the stack gets all of them") {
    check_many(std::make_index_sequence<1000>(), 994);
    check_many(std::make_index_sequence<200>(), 194);
    check_many(std::make_index_sequence<7>(), 1);
    check_many(std::make_index_sequence<6>(), 0);
    check_many(std::make_index_sequence<0>(), 0);
}

TEST_CASE("A function with an unknown number of arguments gets all of them") {
    check_many(std::make_index_sequence<1000>(), kUnknownWords);
    check_many(std::make_index_sequence<9>(), kUnknownWords);
}

TEST_CASE("Integers and floating-point numbers in registers and on the stack arrive unchanged") {
    auto* stub = stub_before(&mixed, "mixed", 3);
    const double expected = mixed(1, 2.5, "x", 3.25F, 4, 5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15);
    CHECK(stub(1, 2.5, "x", 3.25F, 4, 5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15) == expected);
}

TEST_CASE("A result in an integer and a vector register comes back") {
    auto* stub = stub_before(&make_pair_of, "pair", 0);
    const Pair pair = stub(41, 0.5);
    CHECK(pair.one == 42);
    CHECK(pair.two == 1.0);
}

TEST_CASE("Unwatched calls arrive unchanged, and are recorded again afterwards") {
    auto* stub = stub_before(&mixed, "mixed_unwatched", 3);
    const auto call = [stub] {
        return stub(1, 2.5, "x", 3.25F, 4, 5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15);
    };
    const double expected = mixed(1, 2.5, "x", 3.25F, 4, 5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15);
    const auto printed = [] { return core().printed().find("mixed_unwatched") != std::string::npos; };
    pass_by(SlotRole::freed);
    pass_by(SlotRole::call);
    CHECK(call() == expected);
    auto* pair = stub_before(&make_pair_of, "pair_unwatched", 0);
    CHECK(pair(41, 0.5).two == 1.0);
    CHECK_FALSE(printed());
    double elsewhere = 0;
    std::thread([&] { elsewhere = call(); }).join();
    CHECK(elsewhere == expected);
    CHECK(printed());
    watch(SlotRole::call);
    CHECK(t_unwatched_roles == bit_of(SlotRole::freed));
    watch_all_roles();
    CHECK(call() == expected);
}

TEST_CASE("errno passes through in both directions") {
    auto* stub = stub_before(&errno_setting, "errno_setting", 0);
    errno = 77;
    const int seen = stub(88);
    const int left = errno;
    CHECK(seen == 77);
    CHECK(left == 88);
}

TEST_CASE("An exception passes through and the next call has no parent") {
    auto* stub = stub_before(&throwing, "throwing", 0);
    CHECK_THROWS_AS(stub(-1), std::runtime_error);
    CHECK(stub(5) == 5);

    const Result<ring::Contents> recorded = ring::read_flight_ring(core().ring_path());
    REQUIRE(recorded.ok());
    std::vector<ring::Record> calls;
    for (const ring::Call& call : ring::merged_calls(recorded.value())) {
        if (recorded.value().name(call.record->name) == "throwing") calls.push_back(*call.record);
    }
    REQUIRE(calls.size() == 2);
    CHECK((calls[0].flags & ring::kUnwoundByException) != 0);
    CHECK((calls[1].flags & ring::kEnded) != 0);
    CHECK(calls[1].back == 0);
    CHECK(calls[1].result == 5);
}

TEST_CASE("A thread with a small stack may call with unknown arguments") {
    auto* stub = stub_before(&mixed, "mixed_small", kUnknownWords);
    const double expected = mixed(1, 2.5, "x", 3.25F, 4, 5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15);
    struct Work {
        decltype(stub) function;
        double result;
    } work{stub, 0};
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
    pthread_t thread{};
    REQUIRE(pthread_create(
                &thread, &attributes,
                [](void* data) -> void* {
                    auto* mine = static_cast<Work*>(data);
                    mine->result = mine->function(1, 2.5, "x", 3.25F, 4, 5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5,
                                                  13.5, 14.5, 15);
                    return nullptr;
                },
                &work) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK(work.result == expected);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

ucontext_t g_main_context;
ucontext_t g_fiber_context;
double g_fiber_result = 0;
decltype(&mixed) g_fiber_function = nullptr;

void fiber_body() {
    g_fiber_result =
        g_fiber_function(1, 2.5, "x", 3.25F, 4, 5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15);
}

}  // namespace

TEST_CASE("On a fiber's stack a function with unknown arguments passes through unseen, and works") {
    g_fiber_function = stub_before(&mixed, "mixed_on_fiber", kUnknownWords);
    std::vector<char> stack(128 * 1024);
    REQUIRE(getcontext(&g_fiber_context) == 0);
    g_fiber_context.uc_stack.ss_sp = stack.data();
    g_fiber_context.uc_stack.ss_size = stack.size();
    g_fiber_context.uc_link = &g_main_context;
    makecontext(&g_fiber_context, fiber_body, 0);
    REQUIRE(swapcontext(&g_main_context, &g_fiber_context) == 0);
    CHECK(g_fiber_result ==
          mixed(1, 2.5, "x", 3.25F, 4, 5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5, 14.5, 15));
    CHECK(core().printed().find("mixed_on_fiber") == std::string::npos);
}
#endif

TEST_CASE("Level 3 prints a call before it starts and after it ended") {
    auto* stub = stub_before(&errno_setting, "printed_one", 0);
    stub(0);
    CHECK(core().printed().find("[ before_launch: printed_one ]\n[ after_launch: printed_one ]\n") !=
          std::string::npos);
}

TEST_CASE("Two stubs before the same function under the same name are one") {
    auto* one = stub_before(&throwing, "shared", 0);
    auto* two = stub_before(&throwing, "shared", 0);
    CHECK(one == two);
    CHECK(is_stub(reinterpret_cast<void*>(one)));
    CHECK_FALSE(is_stub(reinterpret_cast<void*>(&throwing)));
}

}  // namespace aoti_dbg::test::thunk_test
