// The hooks of copies, fills, frees, waits and streams, and the observers behind them. Links neither the
// library nor a driver.
#include "tests/unit/flush_hooks_fixture.hpp"

namespace aoti_dbg::flush_hooks_test {
namespace {

TEST_CASE("If nothing waits to be measured, a hook calls the real function and does nothing else") {
    g_pending_points = 0;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook) == kAnswer);
        CHECK(g_real_calls == 1);
        CHECK(g_flushes_of_all + g_flushes_of_one + g_sends == 0);
        CHECK(g_forgets == 0);
    }
}

/// While it lives, the thread is directly in an inspected run, and nothing waits to be measured.
class InspectedRun {
  public:
    InspectedRun() {
        g_pending_points = 0;
        g_measuring = true;
        run_->depth = 1;
        t_thread_state = run_.get();
    }
    ~InspectedRun() {
        t_thread_state = nullptr;
        g_measuring = false;
    }
    InspectedRun(const InspectedRun&) = delete;
    InspectedRun& operator=(const InspectedRun&) = delete;

  private:
    std::unique_ptr<ThreadState> run_ = std::make_unique<ThreadState>();
};

TEST_CASE("In an inspected run, possible changes of memory are noted, and mere queries are not") {
    const InspectedRun run;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook) == kAnswer);
        CHECK(g_forgets == (only_sends(hook) || only_asks(hook) ? 0 : 1));
    }
}

TEST_CASE("If a run waits for an event before its first call, only what was launched is forgotten") {
    const InspectedRun run;
    g_is_before_first_call = true;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook) == kAnswer);
        const bool waits_for_event = std::string(hook.name) == "cuEventSynchronize";
        CHECK(g_forgets_launched == (waits_for_event ? 1 : 0));
        CHECK(g_forgets == (waits_for_event || only_sends(hook) || only_asks(hook) ? 0 : 1));
    }
    g_is_before_first_call = false;
}

TEST_CASE("Outside of runs, and in skipped ones, nothing is noted") {
    g_pending_points = 0;
    g_measuring = true;
    const auto run = std::make_unique<ThreadState>();
    for (const bool is_skipped : {false, true}) {
        run->depth = is_skipped ? 1 : 0;
        t_unwatched_roles = is_skipped ? bit_of(SlotRole::call) : 0;
        t_thread_state = run.get();
        for (const FlushHook& hook : kHooks) {
            CAPTURE(hook.name);
            CHECK(call(hook) == kAnswer);
            CHECK(g_forgets == 0);
        }
    }
    t_unwatched_roles = 0;
    t_thread_state = nullptr;
    g_measuring = false;
}

TEST_CASE("Waiting measurements go out once, before the real function") {
    g_pending_points = 1;
    REQUIRE(std::size(kHooks) > 100);
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook) == kAnswer);
        CHECK(g_real_calls == 1);
        CHECK(g_flushes_before_real == (is_neither(hook) ? 0 : 1));
        CHECK(g_flushes_of_all + g_flushes_of_one == (is_neither(hook) || only_sends(hook) ? 0 : 1));
        CHECK(g_sends == (only_sends(hook) ? 1 : 0));
    }
}

TEST_CASE("If waits are recorded, each call that may wait is recorded around itself, and no other") {
    g_pending_points = 0;
    g_recording_waits = true;
    int waiting = 0;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook) == kAnswer);
        const std::string name = hook.name;
        const bool is_copy = begins_with(name, "cuMemcpy") && name.find("Async") == std::string::npos &&
                             !begins_with(name, "cuMemcpyDtoD");
        const bool waits = name.find("Synchronize") != std::string::npos || is_copy ||
                           begins_with(name, "cuMemcpyDtoHAsync") || begins_with(name, "cuMemFree_");
        CHECK(g_waits == (waits ? 11 : 0));
        CHECK(g_answers == (name.find("Query") != std::string::npos ? 1 : 0));
        CHECK(g_events == (begins_with(name, "cuEventRecord") ? 1 : 0));
        if (g_waits + g_answers + g_events == 0) continue;
        ++waiting;
        const bool is_twin = ends_with(name, "_ptsz") || ends_with(name, "_ptds");
        CHECK(g_awaited.stream == (is_twin ? 2 : 0));
    }
    CHECK(waiting > 30);
    g_recording_waits = false;
}

TEST_CASE("If the map of allocations is kept, a free is recorded before the call and with its result") {
    g_pending_points = 0;
    g_recording_memory = true;
    int freeing = 0;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook) == kAnswer);
        const std::string name = hook.name;
        const bool frees =
            begins_with(name, "cuMemFree") || name == "cuMemUnmap" || name == "cuIpcCloseMemHandle";
        CHECK(g_leaving == (frees ? 11 : 0));
        if (!frees) continue;
        ++freeing;
        CHECK(g_leaving_stream ==
              (ends_with(name, "_ptsz") ? reinterpret_cast<void*>(std::uintptr_t{2}) : nullptr));
    }
    CHECK(freeing == 5);
    g_recording_memory = false;
}

/// The ordering events that each hook must report, without the stream.
std::vector<std::string> order_of(const std::string& name) {
    const auto begins = [&name](std::initializer_list<const char*> beginnings) {
        return std::any_of(beginnings.begin(), beginnings.end(),
                           [&name](const char* each) { return begins_with(name, each); });
    };
    if (begins({"cuMemPool"})) return {};
    if (begins({"cuIpcClose"})) return {"gone"};
    if (begins({"cuMemFree_"})) return {"gone", "host, for all,"};
    if (begins({"cuStreamDestroy"})) return {"destroyed"};
    if (begins({"cuCtxSynchronize"})) return {"host, for all,"};
    if (begins({"cuStreamSynchronize", "cuEventSynchronize", "cuStreamQuery", "cuEventQuery"}))
        return {"host"};
    if (begins({"cuMemFreeAsync"})) return {"freed"};
    if (begins({"cuMemUnmap"})) return {"unmapped"};
    if (begins({"cuEventRecord"})) return {"event"};
    if (begins({"cuStreamWaitEvent"})) return {"waits"};
    if (begins({"cuStreamWaitValue"})) return {"waits for something"};
    if (begins({"cuStreamBatchMemOp"})) return {"waits for something", "callback"};
    if (begins({"cuLaunchHostFunc", "cuStreamAddCallback", "cuStreamWriteValue", "cuMemcpyBatchAsync",
                "cuMemcpy3DBatchAsync"}))
        return {"callback"};
    if (begins({"cuStreamBeginCapture", "cuMemcpy3DPeerAsync"})) return {"work"};
    // Copies and sets. Some wait for what they have copied.
    if (begins({"cuMemcpyAsync", "cuMemcpy2DAsync", "cuMemcpy3DAsync"})) {
        return g_is_pageable ? std::vector<std::string>{name, "callback"} : std::vector<std::string>{name};
    }
    const bool waits =
        (begins({"cuMemcpyDtoHAsync"}) && g_is_pageable) ||
        (begins({"cuMemcpy"}) && name.find("Async") == std::string::npos && !begins({"cuMemcpyDtoD"}));
    return waits ? std::vector<std::string>{name, "host"} : std::vector<std::string>{name};
}

TEST_CASE("For the races check, each hook reports its effect on its stream before it happens") {
    g_pending_points = 0;
    g_ordering = true;
    g_answer = 0;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook) == 0);
        const bool is_twin = ends_with(hook.name, "_ptsz") || ends_with(hook.name, "_ptds");
        std::vector<std::string> expected = order_of(hook.name);
        // The host waited only once the call has returned.
        CHECK(g_was_ordered_before_real == (!expected.empty() && !begins_with(expected.front(), "host")));
        for (std::string& each : expected)
            each += is_twin ? " 2" : " 0";  // no function with a twin is without a stream
        CHECK(g_ordered == expected);
    }
    // Copies of pinned memory do not wait.
    g_is_pageable = false;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        call(hook);
        CHECK(g_ordered.size() == order_of(hook.name).size());
    }
    g_is_pageable = true;
    // A failed wait shows nothing.
    g_answer = kAnswer;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        call(hook);
        for (const std::string& each : g_ordered)
            CHECK_FALSE(begins_with(each, "host"));
    }
    g_ordering = false;
    for (const FlushHook& hook : kHooks) {
        call(hook);
        CHECK(g_ordered.empty());
    }
}

/// Copies and sets whose arguments are all numbers.
std::vector<FlushHook> plain_copies_and_sets() {
    std::vector<FlushHook> plain;
    for (const FlushHook& hook : kHooks) {
        const auto begins = [&hook](const char* beginning) { return begins_with(hook.name, beginning); };
        const bool has_list = begins("cuMemcpy2D") || begins("cuMemcpy3D") || begins("cuMemcpyBatch");
        if ((begins("cuMemcpy") || begins("cuMemset")) && !has_list) plain.push_back(hook);
    }
    return plain;
}

/// Calls a hook with 1001, 1002, 1003 and so on.
void call_with_numbers(const FlushHook& hook) {
    set_real(reinterpret_cast<void*>(&real_function));
    activate_driver_observers();
    using Longest = int (*)(long, long, long, long, long, long, long, long, long, long);
    reinterpret_cast<Longest>(hook.hook)(1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010);
}

/// The ranges that call_with_numbers() touches.
std::vector<std::string> touched_by(const std::string& name) {
    const auto begins = [&name](const char* beginning) { return begins_with(name, beginning); };
    const std::string unit_name = name.substr(0, name.find('_'));
    const int unit = unit_name.find("D32") != std::string::npos   ? 4
                     : unit_name.find("D16") != std::string::npos ? 2
                                                                  : 1;
    if (begins("cuMemsetD2D")) return {"writes " + std::to_string(1004 * unit) + " at 1001"};
    if (begins("cuMemset")) return {"writes " + std::to_string(1003 * unit) + " at 1001"};
    if (begins("cuMemcpyHtoD")) return {"writes 1003 at 1001"};
    if (begins("cuMemcpyDtoH")) return {"reads 1003 at 1002"};
    if (begins("cuMemcpyDtoA")) return {"reads 1004 at 1003"};
    if (begins("cuMemcpyAtoD")) return {"writes 1004 at 1001"};
    if (begins("cuMemcpyPeerAsync")) return {"reads 1005 at 1003", "writes 1005 at 1001"};
    if (begins("cuMemcpyPeer")) return {};
    return {"reads 1003 at 1002", "writes 1003 at 1001"};
}

TEST_CASE("Copies and sets report the memory that they read and write") {
    g_pending_points = 0;
    g_ordering = true;
    int touching = 0;
    for (const FlushHook& hook : plain_copies_and_sets()) {
        CAPTURE(hook.name);
        g_touched.clear();
        call_with_numbers(hook);
        CHECK(g_touched == touched_by(hook.name));
        ++touching;
    }
    CHECK(touching > 40);
    g_ordering = false;
}

TEST_CASE("If no feature watches, a hook calls the real function and reads none of its arguments") {
    g_saving = false;
    g_pending_points = 1;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook) == kAnswer);
        CHECK(g_real_calls == 1);
        CHECK(g_flushes_of_all + g_flushes_of_one + g_sends + g_forgets == 0);
        CHECK_FALSE(is_driver_observed());
        call_with_numbers(hook);  // some of them are the addresses of lists
    }
    g_saving = true;
}

/// The number of driver kernels that the call is known to use.
template <typename Call>
std::uint32_t kernels_of(Call call) {
    g_counts_launches = true;
    g_recording_memory = true;
    set_real(reinterpret_cast<void*>(&real_function));
    activate_driver_observers();
    note_context(&g_context, 0);
    const std::uint32_t before = next_launch_number().kernel;
    call();
    const std::uint32_t after = next_launch_number().kernel;
    g_counts_launches = false;
    g_recording_memory = false;
    return after - before - 1;
}

TEST_CASE("Copies within the device and fills of separate rows count as kernels") {
    int counting = 0;
    for (const FlushHook& hook : plain_copies_and_sets()) {
        CAPTURE(hook.name);
        const auto begins = [&hook](const char* beginning) { return begins_with(hook.name, beginning); };
        const bool is_with_host_or_array = begins("cuMemcpyHtoD") || begins("cuMemcpyDtoH") ||
                                           begins("cuMemcpyDtoA") || begins("cuMemcpyAtoD");
        const bool is_small = begins("cuMemset") && !begins("cuMemsetD2D");
        const std::uint32_t expected = is_with_host_or_array || is_small ? 0 : 1;
        CHECK(kernels_of([&hook] { call_with_numbers(hook); }) == expected);
        counting += static_cast<int>(expected);
    }
    CHECK(counting > 20);
}

TEST_CASE("Each copy of a batch with bytes counts, and a missing list is not read") {
    std::uint64_t to[] = {0x1000, 0x2000, 0x3000};
    std::uint64_t from[] = {0x4000, 0x5000, 0x6000};
    std::size_t bytes[] = {8, 0, 16};
    using Batch = int (*)(std::uint64_t*, std::uint64_t*, std::size_t*, std::size_t, void*, void*,
                          std::size_t, void*, void*);
    int batches = 0;
    for (const FlushHook& hook : kHooks) {
        if (!begins_with(hook.name, "cuMemcpyBatchAsync")) continue;
        CAPTURE(hook.name);
        auto* const batch = reinterpret_cast<Batch>(hook.hook);
        const auto copy = [&](std::uint64_t* there) {
            return kernels_of([&] { batch(there, from, bytes, 3, nullptr, nullptr, 0, nullptr, nullptr); });
        };
        CHECK(copy(to) == 2);
        CHECK(copy(nullptr) == 0);
        ++batches;
    }
    CHECK(batches == 4);
}

TEST_CASE("Stream 0 is the legacy stream to a function and the thread's own to its twin") {
    g_pending_points = 1;
    void* const per_thread = reinterpret_cast<void*>(std::uintptr_t{2});
    int with_stream = 0;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        call(hook);
        if (g_flushes_of_one + g_sends == 0) {
            // A call without a stream concerns all of them.
            CHECK(!ends_with(hook.name, "_ptsz"));
            continue;
        }
        ++with_stream;
        CHECK(g_stream == (ends_with(hook.name, "_ptsz") ? per_thread : nullptr));
    }
    CHECK(with_stream > 50);
}

TEST_CASE("A created stream is the same to both") {
    g_pending_points = 1;
    int stream = 0;
    for (const FlushHook& hook : kHooks) {
        if (strcmp(hook.name, "cuStreamSynchronize") != 0 &&
            strcmp(hook.name, "cuStreamSynchronize_ptsz") != 0)
            continue;
        CHECK(reinterpret_cast<int (*)(void*)>(hook.hook)(&stream) == kAnswer);
        CHECK(g_stream == &stream);
        g_stream = nullptr;
    }
}

TEST_CASE("Without a driver behind it a hook returns an error") {
    g_pending_points = 1;
    for (const FlushHook& hook : kHooks) {
        CAPTURE(hook.name);
        CHECK(call(hook, nullptr) == kNoDriverAnswer);
    }
}

}  // namespace
}  // namespace aoti_dbg::flush_hooks_test
