// Runs that no window selects. Their calls go straight to the real functions, until such a run ends in any
// way: its return, an exception, a nested run that is selected.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "shim/calls/skipped_runs.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/shim_fixture.hpp"

namespace aoti_dbg::test::skipped_runs_test {
namespace {

/// The work of the innermost run.
const std::function<void()>* g_work = nullptr;

int do_work(const void* /*container*/, void* /*inputs*/, std::size_t /*count*/, void* /*outputs*/) {
    (*g_work)();
    return 0;
}
int nothing(const void* /*container*/) {
    return 0;
}

class SampledCore {
  public:
    SampledCore() {
        // Runs 0, 3, 6 ... are selected.
        setenv("AOTI_DBG_RUNS", "::3", 1);
        core();
        op_ = stub_before(&nothing, "an_op", 0);
        run_ = stub_before(&do_work, "a_run", 0, SlotRole::run, ring::CallKind::run);
        update_ = stub_before(&nothing, "an_update", 0, SlotRole::lifecycle, ring::CallKind::lifecycle);
    }

    /// Returns the number of lines that the calls print.
    int call(int calls = 1) const {
        const std::size_t before = core().printed().size();
        for (int i = 0; i < calls; ++i)
            op_(nullptr);
        const std::string text = core().printed().substr(before);
        return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    }
    void run(const std::function<void()>& work, const void* container = nullptr) const {
        const std::function<void()>* const outer = std::exchange(g_work, &work);
        run_(container, nullptr, 0, nullptr);
        g_work = outer;
    }
    void update() const { update_(nullptr); }
    /// Runs until the next run is the first of its kind, which is selected.
    void start_anew() const {
        while (next_run() % 3 != 0)
            run([] {});
    }
    /// Makes a run that is not selected, and returns whether it is skipped.
    [[nodiscard]] bool skips(const void* container = nullptr) const {
        if (next_run() % 3 == 0) run([] {});
        bool is_skipped = false;
        run([&] { is_skipped = in_skipped_run(); }, container);
        return is_skipped;
    }

  private:
    static std::uint64_t next_run() {
        const ThreadState* const state = thread_state();
        return state == nullptr ? 0 : state->counts.runs.get();
    }
    int (*op_)(const void*);
    int (*run_)(const void*, void*, std::size_t, void*);
    int (*update_)(const void*);
};

const SampledCore& sampled() {
    static const SampledCore instance;
    return instance;
}

}  // namespace

TEST_CASE("Selected runs have records of their calls, and runs between them have none") {
    const SampledCore& program = sampled();
    program.start_anew();
    for (int i = 0; i < 7; ++i) {
        program.run([&] {
            CHECK(program.call(3) == (i % 3 == 0 ? 6 : 0));
            CHECK(in_skipped_run() == (i % 3 != 0));
        });
        CHECK(t_unwatched_roles == 0);
    }
}

TEST_CASE("A selected run inside a skipped one is watched, and the skipped one goes on as before") {
    const SampledCore& program = sampled();
    program.start_anew();
    program.run([] {});
    program.run([&] {  // run 1
        CHECK(in_skipped_run());
        program.run([&] { CHECK(in_skipped_run()); });      // run 2
        program.run([&] { CHECK(program.call(2) == 4); });  // run 3
        CHECK(in_skipped_run());
        CHECK(program.call() == 0);
    });
    CHECK(t_unwatched_roles == 0);
}

TEST_CASE("After a skipped run inside a selected one, the rest of the selected run is watched") {
    const SampledCore& program = sampled();
    program.start_anew();
    program.run([&] {
        CHECK(program.call() == 2);
        program.run([&] { CHECK(program.call() == 0); });
        CHECK(program.call() == 2);
    });
}

TEST_CASE("After an exception has unwound a skipped run, the next selected run is watched") {
    const SampledCore& program = sampled();
    program.start_anew();
    program.run([] {});
    CHECK_THROWS_AS(program.run([] { throw std::runtime_error("unwinds run 1"); }), std::runtime_error);
    CHECK_THROWS_AS(program.run([&] {
        program.run([&] { CHECK(program.call() == 2); });  // run 3, in run 2
        throw std::runtime_error("unwinds run 2");
    }),
                    std::runtime_error);
    program.run([] {});
    program.run([] {});
    program.run([&] { CHECK(program.call() == 2); });
    CHECK(t_unwatched_roles == 0);
}

TEST_CASE("A skipped run that catches an exception from a selected run stays skipped") {
    const SampledCore& program = sampled();
    program.start_anew();
    program.run([] {});
    program.run([] {});
    program.run([&] {  // run 2
        const auto inner = [] { throw std::runtime_error("unwinds run 3"); };
        CHECK_THROWS_AS(program.run(inner), std::runtime_error);
        program.run([] {});  // shows that run 3 is gone
        CHECK(in_skipped_run());
    });
    CHECK(t_unwatched_roles == 0);
}

TEST_CASE("The first run of a container after a change to any container is inspected, and then none") {
    const SampledCore& program = sampled();
    int one = 0;
    int other = 0;
    program.start_anew();
    program.run([] {});
    CHECK_FALSE(program.skips(&one));
    CHECK(program.skips(&one));
    CHECK_FALSE(program.skips(&other));
    CHECK(program.skips(&other));
    program.update();
    CHECK_FALSE(program.skips(&one));
    CHECK(program.skips(&one));
}

TEST_CASE("A run that fails does not count as inspected") {
    const SampledCore& program = sampled();
    int container = 0;
    program.start_anew();
    program.run([] {});
    CHECK_THROWS_AS(program.run([] { throw std::runtime_error("no"); }, &container), std::runtime_error);
    CHECK_FALSE(program.skips(&container));
}

TEST_CASE("Another thread inspects a run of its own first") {
    const SampledCore& program = sampled();
    program.start_anew();
    program.run([] {});
    CHECK(program.skips());
    bool first = true;
    std::thread([&] { program.run([&] { first = in_skipped_run(); }); }).join();
    CHECK_FALSE(first);
}

}  // namespace aoti_dbg::test::skipped_runs_test
