// What is behind the hooks in flush_hooks_test.cpp, which alone includes this file: a counter for the
// measuring, and a checking function for the driver.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "shim/calls/driver_observer.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/race_driver_observer.hpp"
#include "shim/check/races.hpp"
#include "shim/faults/allocation_observer.hpp"
#include "shim/faults/allocations.hpp"
#include "shim/faults/driver_waits.hpp"
#include "shim/faults/launch_count_observer.hpp"
#include "shim/faults/wait_observer.hpp"
#include "shim/measure/pending.hpp"
#include "shim/measure/pending_observer.hpp"
#include "shim/runtime/driver_table.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/process.hpp"
#include "tests/support/catch.hpp"

#define AOTI_DBG_HOOK(name, what) AOTI_DBG_OF_##what(name)
#define AOTI_DBG_OF_context(name)
#define AOTI_DBG_OF_launch(name)
#define AOTI_DBG_OF_module(name)
#define AOTI_DBG_OF_memory(name)
#define AOTI_DBG_OF_free(name) AOTI_DBG_TESTED(name)
#define AOTI_DBG_OF_copy(name) AOTI_DBG_TESTED(name)
#define AOTI_DBG_OF_memset(name) AOTI_DBG_TESTED(name)
#define AOTI_DBG_OF_wait(name) AOTI_DBG_TESTED(name)
#define AOTI_DBG_OF_stream(name) AOTI_DBG_TESTED(name)

// Without types, as driver_table.cpp declares them.
extern "C" {
#define AOTI_DBG_TESTED(name) void name();
#include "shim/runtime/hooks.def"
#undef AOTI_DBG_TESTED
}

namespace aoti_dbg {
namespace {

struct FlushHook {
    const char* name;
    void* hook;
};

const FlushHook kHooks[] = {
#define AOTI_DBG_TESTED(name) {#name, reinterpret_cast<void*>(&::name)},
#include "shim/runtime/hooks.def"
#undef AOTI_DBG_TESTED
};

constexpr int kAnswer = 999;          // CUDA_ERROR_UNKNOWN: a value of its type
constexpr int kNoDriverAnswer = 302;  // CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND

int g_flushes_of_all = 0;
int g_flushes_of_one = 0;
int g_sends = 0;
int g_forgets = 0;
int g_forgets_launched = 0;
bool g_is_before_first_call = false;
int g_waits = 0;
int g_answers = 0;
int g_events = 0;
int g_leaving = 0;
const void* g_leaving_stream = nullptr;
Awaited g_awaited;
void* g_stream = nullptr;
int g_real_calls = 0;
int g_flushes_before_real = 0;

int g_answer = kAnswer;
std::vector<std::string> g_ordered;  // ordering events, with the stream
bool g_was_ordered_before_real = false;
std::vector<std::string> g_touched;
bool g_is_pageable = true;  // target memory of a copy

int real_function() {
    ++g_real_calls;
    g_flushes_before_real = g_flushes_of_all + g_flushes_of_one + g_sends;
    g_was_ordered_before_real = !g_ordered.empty();
    return g_answer;
}

void note_order(const std::string& what, const void* stream) {
    g_ordered.push_back(what + " " + std::to_string(reinterpret_cast<std::uintptr_t>(stream)));
}

int g_context = 0;  // its address is the handle

void set_real(void* real) {
    for (DriverHook& hook : g_driver_hooks)
        hook.real = real;
}

/// Calls a hook with as many zeros as the longest of them takes.
int call(const FlushHook& hook, void* real = reinterpret_cast<void*>(&real_function)) {
    set_real(real);
    activate_driver_observers();
    g_flushes_of_all = g_flushes_of_one = g_sends = g_forgets = g_forgets_launched = g_waits = g_answers =
        g_events = g_leaving = g_real_calls = g_flushes_before_real = 0;
    g_ordered.clear();
    g_touched.clear();
    g_stream = &g_stream;
    using Longest = int (*)(long, long, long, long, long, long, long, long, long, long);
    return reinterpret_cast<Longest>(hook.hook)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

bool begins_with(const std::string& text, const std::string& begin) {
    return text.compare(0, begin.size(), begin) == 0;
}

/// These show others how far a stream is, and change nothing.
bool only_sends(const FlushHook& hook) {
    return begins_with(hook.name, "cuEventRecord") || begins_with(hook.name, "cuStreamQuery");
}

/// Its measurements went out when the event was recorded.
bool only_waits(const FlushHook& hook) {
    return std::string(hook.name) == "cuEventSynchronize";
}

/// It does not show how far another stream's tensors are.
bool only_asks(const FlushHook& hook) {
    return std::string(hook.name) == "cuEventQuery";
}

bool is_neither(const FlushHook& hook) {
    return only_waits(hook) || only_asks(hook);
}

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::atomic<std::uint32_t> g_pending_points{0};

__thread ThreadState* t_thread_state __attribute__((tls_model("initial-exec"))) = nullptr;
__thread std::uint32_t t_unwatched_roles __attribute__((tls_model("initial-exec"))) = 0;

bool g_measuring = false;
bool g_saving = true;
void note_unseen_work() {
    ++g_forgets;
}
void forget_launched() {
    ++g_forgets_launched;
}
bool is_before_first_call() {
    return g_is_before_first_call;
}

bool lets_pending_wait(void* /*stream*/) {
    return false;
}

void flush_pending() {
    ++g_flushes_of_all;
}

void flush_pending_of(void* stream) {
    ++g_flushes_of_one;
    g_stream = stream;
}

void send_pending_of(void* stream) {
    ++g_sends;
    g_stream = stream;
}

DriverHook g_driver_hooks[kHookCount];

void* find_real_driver_function(Hook /*hook*/) {
    return nullptr;
}

/// One context, of device 0, which owns all memory.
void* other_driver_function(const char* name) {
    const std::string asked = name;
    if (asked == "cuCtxGetCurrent") {
        return reinterpret_cast<void*>(+[](void** context) {
            *context = &g_context;
            return 0;
        });
    }
    if (asked != "cuPointerGetAttribute") return reinterpret_cast<void*>(+[] { return 1; });
    return reinterpret_cast<void*>(+[](unsigned* value, int attribute, std::uint64_t /*address*/) {
        constexpr int kMemoryType = 2;
        constexpr unsigned kOfDevice = 2;
        *value = attribute == kMemoryType ? kOfDevice : 0;
        return 0;
    });
}

bool g_ordering = false;

namespace races {

void note_work(void* stream) {
    note_order("work", stream);
}
void note_copied(const char* function, void* stream, const CopyRanges& ranges) {
    note_order(function, stream);
    const auto note_range = [](const std::string& use, const MemoryRange& range) {
        if (range.bytes == 0) return;
        g_touched.push_back(use + std::to_string(range.bytes) + " at " + std::to_string(range.address));
    };
    note_range("reads ", ranges.read);
    note_range("writes ", ranges.written);
}
void note_graph(void* /*stream*/) {}
void note_unseen_event(void* /*event*/) {}
void note_context_ends() {}
bool is_waited_for(std::uint64_t /*to*/) {
    return g_is_pageable;
}
void note_freed_at_once(std::uint64_t /*address*/) {
    note_order("gone", nullptr);
}
void note_destroyed(void* stream) {
    note_order("destroyed", stream);
}
void note_recorded(void* /*event*/, void* stream) {
    note_order("event", stream);
}
void note_waits(void* stream, void* /*event*/) {
    note_order("waits", stream);
}
void note_unseen_wait(void* stream) {
    note_order("waits for something", stream);
}
void note_waited(const Awaited& awaited) {
    note_order(awaited.is_all ? "host, for all," : "host", reinterpret_cast<void*>(awaited.stream));
}
void note_callback(void* stream) {
    note_order("callback", stream);
}
void note_freed(const char* /*function*/, std::uint64_t /*address*/, void* stream) {
    note_order("freed", stream);
}
void note_unmapped(std::uint64_t /*address*/, std::uint64_t /*bytes*/) {
    note_order("unmapped", nullptr);
}

}  // namespace races

bool g_recording_waits = false;

RecordedWait begin_wait(Hook /*hook*/, const Awaited& awaited) {
    static ring::Record record;
    g_awaited = awaited;
    g_waits += g_real_calls == 0 ? 1 : 100;
    return {&record, 7};
}

void end_wait(const RecordedWait& wait, std::int32_t result) {
    g_waits += g_real_calls == 1 && wait.seq == 7 && result == kAnswer ? 10 : 1000;
}

void note_answer(Hook /*hook*/, Awaited awaited, std::int32_t result) {
    g_awaited = awaited;
    g_answers += g_real_calls == 1 && result == kAnswer ? 1 : 100;
}

bool g_recording_memory = false;

LeavingMemory* take_leaving(allocations::Way /*way*/, std::uint64_t /*address*/, std::uint64_t /*bytes*/,
                            const void* stream) {
    g_leaving_stream = stream;
    g_leaving += g_real_calls == 0 ? 1 : 100;
    return reinterpret_cast<LeavingMemory*>(&g_leaving);
}

void end_leaving(LeavingMemory* /*leaving*/, bool is_freed) {
    g_leaving += g_real_calls == 1 && !is_freed ? 10 : 1000;
}

void note_allocation(const AskedMemory& /*asked*/, std::uint64_t /*address*/) {}
void note_refused(const AskedMemory& /*asked*/) {}
void note_context_destroyed(const void* /*context*/) {}
void note_device_reset(int /*device*/) {}

void note_event_recorded(std::uint64_t /*event*/, std::uint64_t stream) {
    g_awaited.stream = stream;
    ++g_events;
}

/// The features whose functions are counted here, in the order of library/features.cpp.
std::span<const DriverObserver* const> all_driver_observers() {
    static constexpr const DriverObserver* kObservers[] = {
        &kPendingObserver, &kRaceDriverObserver, &kLaunchCountObserver, &kAllocationObserver, &kWaitObserver,
    };
    return kObservers;
}

}  // namespace aoti_dbg
