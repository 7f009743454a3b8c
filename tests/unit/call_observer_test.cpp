// An observer of this test that counts the calls of each kernel, in a feature list of its own.
#include "shim/calls/call_observer.hpp"

#include <map>
#include <string>

#include "shim/calls/driver_observer.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/calls/thread_state.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/shim_fixture.hpp"

namespace aoti_dbg {
namespace {

class CallCounter final : public CallObserver {
  public:
    [[nodiscard]] CallMoments moments() const override { return {.before = true, .after = true}; }
    void before(ThreadState& /*state*/, OpenCall& call) const override { ++counts[call.name->printed].begun; }
    void after(ThreadState& /*state*/, OpenCall& call, std::int32_t result) const override {
        Counts& of_kernel = counts[call.name->printed];
        ++of_kernel.ended;
        of_kernel.failed += result != 0 ? 1 : 0;
    }

    struct Counts {
        int begun = 0;
        int ended = 0;
        int failed = 0;
    };
    inline static std::map<std::string, Counts> counts;
};

class OffObserver final : public CallObserver {
  public:
    [[nodiscard]] CallMoments moments() const override { return {}; }
    void before(ThreadState& /*state*/, OpenCall& /*call*/) const override { was_called = true; }
    inline static bool was_called = false;
};

constexpr CallCounter kCounter;
constexpr OffObserver kOff;

std::int32_t succeed() {
    return 0;
}
std::int32_t fail() {
    return 1;
}

}  // namespace

// These replace library/features.cpp.
std::span<const CallObserver* const> all_call_observers() {
    static constexpr const CallObserver* kObservers[] = {&kOff, &kCounter};
    return kObservers;
}
void start_session_parts(Session& /*session*/) {}
std::span<const DriverObserver* const> all_driver_observers() {
    return {};
}

TEST_CASE("An observer sees each call before it happens and after it returns") {
    auto* const good = test::stub_before(succeed, "good_kernel", 0);
    auto* const bad = test::stub_before(fail, "bad_kernel", 0);
    for (int i = 0; i < 3; ++i)
        CHECK(good() == 0);
    CHECK(bad() == 1);
    CHECK(CallCounter::counts["good_kernel"].begun == 3);
    CHECK(CallCounter::counts["good_kernel"].ended == 3);
    CHECK(CallCounter::counts["good_kernel"].failed == 0);
    CHECK(CallCounter::counts["bad_kernel"].ended == 1);
    CHECK(CallCounter::counts["bad_kernel"].failed == 1);
    CHECK(CallCounter::counts.size() == 2);
}

TEST_CASE("An observer that the options do not request sees nothing") {
    auto* const good = test::stub_before(succeed, "good_kernel", 0);
    CHECK(good() == 0);
    CHECK_FALSE(OffObserver::was_called);
}

}  // namespace aoti_dbg
