#include "shim/calls/skipped_runs.hpp"

#include <string_view>

#include "config/selection.hpp"
#include "shim/calls/calls.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/stub_frame.hpp"

namespace aoti_dbg {
namespace {

std::atomic<std::uint32_t> g_changes{0};
std::atomic<bool> g_are_weights_shared{false};

/// A run of a Python wrapper has no container, and its model is one function.
WholeRun identity_of(const Passage& passage, std::uint16_t model, std::uint32_t changes) {
    return {passage.frame == nullptr ? 0 : passage.frame->integer(0), changes, model, true};
}

std::size_t place_of(const WholeRun& run) {
    return (run.container >> 4U ^ run.container >> 12U ^ run.model) % ThreadState::kWholeRuns;
}

}  // namespace

[[gnu::hot]] bool may_skip_run(const ThreadState& state, const CallStart& start, const OpenCall& run) {
    if (!g_skipping_runs || may_select_run(options(), run.run)) return false;
    // The end of a linked model's run is not certain, and its container is unknown.
    if (!start.passage.has_ends()) return false;
    const WholeRun known = identity_of(start.passage, start.model, container_changes());
    return state.whole_runs[place_of(known)] == known;
}

void note_container_call(const OpenCall& call) {
    if (call.passage.frame == nullptr) return;
    const std::string_view name = call.name->printed;
    const bool shares_weights = name.find("UserManaged") != std::string_view::npos ||
                                name.find("WithExternalConstants") != std::string_view::npos;
    if (shares_weights) g_are_weights_shared.store(true, std::memory_order_relaxed);
    g_changes.fetch_add(1, std::memory_order_release);
}

void note_whole_run(ThreadState& state, const OpenCall& run) {
    if (!g_skipping_runs || !run.passage.has_ends()) return;
    const WholeRun known = identity_of(run.passage, run.model, run.container_changes);
    state.whole_runs[place_of(known)] = known;
}

std::uint32_t container_changes() {
    return g_changes.load(std::memory_order_acquire);
}

bool are_weights_shared() {
    return g_are_weights_shared.load(std::memory_order_relaxed);
}

}  // namespace aoti_dbg
