#include "shim/measure/made_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "shim/bind/slots.hpp"
#include "shim/measure/arguments.hpp"
#include "shim/measure/measured_model.hpp"
#include "shim/measure/measuring_thread.hpp"
#include "shim/observe/calls.hpp"
#include "shim/observe/session.hpp"
#include "shim/observe/thread_state.hpp"
#include "shim/report/tensor_map_file.hpp"

namespace aoti_dbg {
namespace {

// Of one run that has made more than this the ends are not noted.
constexpr std::size_t kMostHandles = 1024;

/// Null where nothing is noted.
TensorMapFile* map_of(ThreadState& state, const MeasuredModel& model) {
    return g_recording_memory && model.is_on_cuda() ? state.session->tensor_map() : nullptr;
}

/// False for what is not on a GPU, or has no memory.
bool find_memory(const ShimApi& api, TensorHandle handle, MadeTensors::Lying& lying) {
    std::int32_t device = 0;
    void* data = nullptr;
    std::int64_t bytes = 0;
    if (handle == nullptr || api.device_type(handle, &device) != 0 || device != api.cuda ||
        api.data_ptr(handle, &data) != 0 || data == nullptr || api.storage_size(handle, &bytes) != 0 ||
        bytes <= 0)
        return false;
    lying = {reinterpret_cast<std::uint64_t>(data), static_cast<std::uint64_t>(bytes)};
    return true;
}

/// Returns its number in the map.
std::uint64_t note(ThreadState& state, TensorMapFile& map, const OpenCall& run, tensors::Origin origin,
                   const MadeTensors::Lying& lying, std::string_view name) {
    tensors::Slot slot{};
    slot.address = lying.address;
    slot.bytes = lying.bytes;
    slot.made_sequence = state.session->last_seq();
    slot.run = run.run;
    slot.model = run.model;
    slot.origin = origin;
    memcpy(slot.name, name.data(), std::min(name.size(), sizeof slot.name));
    return map.add(slot);
}

void remember(MadeTensors& made, TensorHandle handle, std::uint64_t number) {
    if (made.handles.size() >= kMostHandles) return;
    made.handles.push_back(handle);
    made.numbers.push_back(number);
}

}  // namespace

void note_inputs(ThreadState& state, const MeasuredModel& model, const OpenCall& run,
                 const TensorHandle* handles, std::size_t count) {
    TensorMapFile* const map = map_of(state, model);
    if (map == nullptr || handles == nullptr) return;
    MadeTensors& made = own_part(state).made;
    // What an earlier run has left that did not come back.
    if (innermost_run(state) == nullptr) {
        made.handles.clear();
        made.numbers.clear();
    }
    for (std::size_t i = 0; i < count; ++i) {
        MadeTensors::Lying lying;
        if (!find_memory(model.api(), handles[i], lying)) continue;
        MadeTensors::Lying& known = made.inputs[{run.model, i}];
        if (known == lying) continue;
        known = lying;
        note(state, *map, run, tensors::Origin::input, lying, model.input(i).label);
    }
}

void note_made_tensor(ThreadState& state, const MeasuredModel& model, const StubFrame& frame) {
    constexpr std::size_t kReturned = 6;
    TensorMapFile* const map = map_of(state, model);
    const OpenCall* const run = innermost_run(state);
    const auto* const returned = reinterpret_cast<const TensorHandle*>(frame.integer(kReturned));
    const bool is_made = static_cast<std::int32_t>(frame.results[0]) == 0 && returned != nullptr;
    if (map == nullptr || run == nullptr || !is_made) return;
    MadeTensors& made = own_part(state).made;
    if (made.run != run->run) {
        made.run = run->run;
        made.site = kNone;
        made.made_since = 0;
    }
    const std::uint32_t nth = made.made_since++;
    MadeTensors::Lying lying;
    if (!find_memory(model.api(), *returned, lying)) return;
    const auto* const sizes = reinterpret_cast<const std::int64_t*>(frame.integer(1));
    const std::span<const std::int64_t> known(sizes, sizes == nullptr ? 0 : frame.integer(0));
    const std::string* const name = model.allocation_names().find(made.site, nth, known);
    remember(made, *returned,
             note(state, *map, *run, tensors::Origin::made, lying,
                  name == nullptr ? std::string_view() : std::string_view(*name)));
}

void note_returned_tensors(ThreadState& state, const MeasuredModel& model, const OpenCall& call) {
    const ShimSignature* const shim = call.passage.slot == nullptr ? nullptr : call.passage.slot->shim;
    if (shim == nullptr || shim->args.find('r') == std::string_view::npos) return;
    TensorMapFile* const map = map_of(state, model);
    const OpenCall* const run = innermost_run(state);
    if (map == nullptr || run == nullptr) return;
    MeasuringThread& own = own_part(state);
    begin_finding(own);
    shim_arguments(*shim, *call.passage.frame, model.site(call.site), true, own.found);
    for (const CallArgument& argument : own.found) {
        MadeTensors::Lying lying;
        if (!argument.only_after || argument.kind != CallArgument::Kind::tensor ||
            !find_memory(model.api(), argument.handle, lying))
            continue;
        remember(own.made, argument.handle,
                 note(state, *map, *run, tensors::Origin::returned, lying, argument.facts->label));
    }
}

void note_let_go(ThreadState& state, TensorHandle handle) {
    TensorMapFile* const map = state.session->tensor_map();
    if (map == nullptr || state.measuring == nullptr) return;
    MadeTensors& made = state.measuring->made;
    const auto found = std::find(made.handles.rbegin(), made.handles.rend(), handle);
    if (found == made.handles.rend()) return;
    const auto at = static_cast<std::size_t>(made.handles.rend() - found) - 1;
    map->end(made.numbers[at], tensors::End::let_go, state.session->last_seq());
    made.handles[at] = made.handles.back();
    made.numbers[at] = made.numbers.back();
    made.handles.pop_back();
    made.numbers.pop_back();
}

void note_handed_out(ThreadState& state, const OpenCall& run) {
    if (!g_recording_memory || state.measuring == nullptr || innermost_run(state) != nullptr) return;
    MadeTensors& made = state.measuring->made;
    if (made.handles.empty() || made.run != run.run) return;
    TensorMapFile* const map = state.session->tensor_map();
    for (const std::uint64_t number : made.numbers)
        if (map != nullptr) map->end(number, tensors::End::handed_out, state.session->last_seq());
    made.handles.clear();
    made.numbers.clear();
}

}  // namespace aoti_dbg
