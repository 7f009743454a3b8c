// A successful run that must fail: what its caller gets, and what happens to its outputs.
#include "shim/calls/run_failure.hpp"

#include <stdexcept>

#include "shim/calls/thread_state.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/tensor_shop.hpp"
#include "tests/unit/shim_fixture.hpp"

namespace aoti_dbg::test::run_failure_test {
namespace {

using Run = std::int32_t(void* container, void** inputs, std::size_t input_count, void** outputs,
                         std::size_t output_count, void* stream, void* executor);

struct Plan {
    bool fails = true;        // requested by the library
    std::int32_t result = 0;  // the model's own
    bool throws = false;
    Run* inner = nullptr;  // a run inside this one
};

/// The model's own function, which also deletes its own tensors.
std::int32_t real_run(void* container, void** /*inputs*/, std::size_t /*input_count*/, void** outputs,
                      std::size_t output_count, void* /*stream*/, void* /*executor*/) {
    const Plan plan = *static_cast<Plan*>(container);
    aoti_torch_delete_tensor_object(make_counted_tensor());
    if (plan.fails) CHECK(fail_run(*thread_state()));
    if (plan.throws) throw std::runtime_error("out of the run");
    if (plan.inner != nullptr) {
        Plan inner{false};
        void* output = nullptr;
        CHECK(plan.inner(&inner, nullptr, 0, &output, 1, nullptr, nullptr) == 0);
        aoti_torch_delete_tensor_object(output);
    }
    if (plan.result != 0) return plan.result;
    for (std::size_t i = 0; i + 1 < output_count; ++i)
        outputs[i] = make_counted_tensor();
    outputs[output_count - 1] = output_count == 1 ? make_counted_tensor() : outputs[0];
    return 0;
}

Run* stub() {
    return stub_before(&real_run, "run of a test", 1, SlotRole::run, ring::CallKind::run);
}

struct Returned {
    std::int32_t code = 0;
    std::vector<void*> outputs;
};

Returned run_with(Plan plan, std::size_t outputs) {
    Returned returned;
    returned.outputs.resize(outputs);
    returned.code = stub()(&plan, nullptr, 0, returned.outputs.data(), outputs, nullptr, nullptr);
    return returned;
}

}  // namespace

TEST_CASE("A run that must fail returns AOTInductor's failure, and its outputs are deleted and nulled") {
    const std::size_t outputs = GENERATE(1U, 3U);  // the last of three repeats the first
    const Returned returned = run_with({}, outputs);
    CHECK(returned.code == 1);
    for (const void* output : returned.outputs)
        CHECK(output == nullptr);
    CHECK(living_tensors() == 0);
}

TEST_CASE("The next run of the same thread is not affected") {
    CHECK(run_with({}, 1).code == 1);
    const Returned returned = run_with({false}, 1);
    CHECK(returned.code == 0);
    CHECK(living_tensors() == 1);
    aoti_torch_delete_tensor_object(returned.outputs[0]);
}

TEST_CASE("A run that fails by itself keeps its own code") {
    CHECK(run_with({true, 7}, 1).code == 7);
    CHECK(run_with({false, 7}, 1).code == 7);
}

TEST_CASE("A run that an exception unwound fails no other run") {
    CHECK_THROWS_AS(run_with({true, 0, true}, 1), std::runtime_error);
    const Returned returned = run_with({false}, 1);
    CHECK(returned.code == 0);
    aoti_torch_delete_tensor_object(returned.outputs[0]);
}

TEST_CASE("A run within a run that must fail succeeds") {
    CHECK(run_with({true, 0, false, stub()}, 1).code == 1);
    CHECK(living_tensors() == 0);
}

TEST_CASE("Outside of a run there is nothing to fail") {
    stub();
    ThreadState* const state = thread_state();
    REQUIRE(state != nullptr);
    CHECK_FALSE(fail_run(*state));
    OpenCall without_frame;
    CHECK_FALSE(fail_run(*state, without_frame));
    CHECK(run_with({false, 3}, 1).code == 3);
}

}  // namespace aoti_dbg::test::run_failure_test
