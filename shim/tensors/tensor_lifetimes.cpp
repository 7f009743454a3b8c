#include "shim/tensors/tensor_lifetimes.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "serializer/tensor_map.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/file_part.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/record/tensor_map_file.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/tensors/arguments.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/created_tensor.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

// Beyond this many tensors in one run, only frees that the source shows are recorded.
constexpr std::size_t kMostHandles = 1024;

using TensorMapPart = FilePart<TensorMapFile>;

TensorMapFile* map_of(const ThreadState& state) {
    TensorMapPart* const part = state.session->part<TensorMapPart>();
    return part == nullptr ? nullptr : part->file();
}

/// Returns null if the model's memory is not recorded.
TensorMapFile* map_of(const ThreadState& state, const MeasuredModel& model) {
    return g_recording_memory && model.is_on_cuda() ? map_of(state) : nullptr;
}

bool is_under_way(const ThreadState& state, std::uint32_t run) {
    const auto* const begin = state.open.data();
    return std::any_of(begin, begin + state.depth, [run](const OpenCall& call) {
        return call.kind == ring::CallKind::run && call.run == run;
    });
}

/// Number 0 belongs to no tensor.
[[gnu::hot]] void end_tensor(const ThreadState& state, const RunTensors& tensors, std::uint64_t number,
                             tensors::End end) {
    if (number != 0) tensors.map->end(number, end, state.session->last_seq());
}

void end_planned(const ThreadState& state, const RunTensors& tensors, tensors::End end) {
    for (const std::uint64_t number : tensors.planned)
        end_tensor(state, tensors, number, end);
}

/// Returns the state of `run`, the innermost run, or null if the run is new. It also drops runs that an
/// exception unwound, and ends their tensors.
RunTensors* known_run(ThreadState& state, TensorLifetimes& made, std::uint32_t run) {
    for (; made.depth > 0; --made.depth) {
        RunTensors& innermost = made.runs[made.depth - 1];
        if (innermost.run == run) return &innermost;
        if (is_under_way(state, innermost.run)) return nullptr;
        end_planned(state, innermost, tensors::End::freed);
    }
    return nullptr;
}

RunTensors& begin_run(TensorLifetimes& made, const MeasuredModel& model, const OpenCall& run) {
    if (made.runs.size() == made.depth) made.runs.emplace_back();
    RunTensors& fresh = made.runs[made.depth++];
    fresh.run = run.run;
    fresh.site = kNone;
    fresh.is_placed = true;
    fresh.created_since = 0;
    fresh.made = 0;
    fresh.returned = 0;
    fresh.before = &made.before[run.model];
    fresh.names = &model.allocation_names();
    fresh.next_freed = fresh.names->freed();
    fresh.planned.assign(fresh.names->numbers(), 0);
    fresh.handles.clear();
    fresh.numbers.clear();
    fresh.may_have.reset();
    // Frees pass unseen until a tensor needs them.
    pass_by(SlotRole::freed);
    return fresh;
}

[[gnu::noinline]] RunTensors* find_run(ThreadState& state, const MeasuredModel& model, const OpenCall& run) {
    TensorMapFile* const map = map_of(state, model);
    if (map == nullptr) return nullptr;
    TensorLifetimes& made = tensors_of(state).made;
    RunTensors* const known = known_run(state, made, run.run);
    made.last = known != nullptr ? known : &begin_run(made, model, run);
    made.last->map = map;
    return made.last;
}

/// Returns the state of the innermost run, or null if the model's memory is not recorded.
[[gnu::always_inline]] inline RunTensors* of_run(ThreadState& state, const MeasuredModel& model,
                                                 const OpenCall& run) {
    RunTensors* const last = tensors_of(state).made.last;
    return last != nullptr && last->run == run.run ? last : find_run(state, model, run);
}

std::size_t hash_of(TensorHandle handle) {
    // Handles are heap objects, some tens of bytes apart.
    const std::uint64_t mixed = (reinterpret_cast<std::uint64_t>(handle) >> 4U) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(mixed >> 54U);
}

/// Many results of ops are on the host or undefined, so the check comes first.
bool is_on_gpu(const ShimApi& api, TensorHandle handle) {
    std::int32_t device = api.cpu;
    return handle != nullptr && api.has_tensor(handle) && api.device_type(handle, &device) == 0 &&
           device == api.cuda;
}

/// Finds the memory of a tensor on a GPU. Returns false if it has no elements.
bool find_memory(CallTensors& own, const ShimApi& api, TensorHandle handle, tensors::Slot& slot) {
    SeenTensor seen;
    if (!own.reader.read(api, handle, seen)) return false;
    slot.address = seen.address;
    slot.bytes = seen.facts->covered_bytes;
    return slot.address != 0 && slot.bytes != 0;
}

/// Returns the tensor's number in the map.
std::uint64_t add(ThreadState& state, TensorMapFile& map, const OpenCall& run, tensors::Origin origin,
                  tensors::Slot& slot) {
    slot.created_sequence = state.session->last_seq();
    slot.run = run.run;
    slot.model = run.model;
    slot.origin = origin;
    return map.add(slot);
}

/// Returns the bytes of the storage, or 0 if unknown.
std::uint64_t storage_of(const ShimApi& api, TensorHandle handle) {
    std::int64_t bytes = 0;
    return api.storage_size != nullptr && api.storage_size(handle, &bytes) == 0 && bytes > 0
               ? static_cast<std::uint64_t>(bytes)
               : 0;
}

/// Does the same as find_memory(). If the last tensor covered all of its storage and the storage has the same
/// size again, the sizes are not read.
bool find_returned_memory(CallTensors& own, const ShimApi& api, const CallArgument& argument,
                          ReturnedBefore& before, tensors::Slot& slot) {
    void* data = nullptr;
    if (before.facts == argument.facts && before.storage_bytes != 0 &&
        storage_of(api, argument.handle) == before.storage_bytes &&
        api.data_ptr(argument.handle, &data) == 0 && data != nullptr) {
        slot.address = reinterpret_cast<std::uint64_t>(data);
        slot.bytes = before.storage_bytes;
        return true;
    }
    if (!find_memory(own, api, argument.handle, slot)) return false;
    before = {argument.facts, storage_of(api, argument.handle) == slot.bytes ? slot.bytes : 0};
    return true;
}

void remember(RunTensors& tensors, TensorHandle handle, std::uint64_t number) {
    if (tensors.handles.size() >= kMostHandles) return;
    tensors.handles.push_back(handle);
    tensors.numbers.push_back(number);
    tensors.may_have.set(hash_of(handle));
}

/// Prepares for the free of a tensor. `named` has what the source says about the tensor, or is null.
[[gnu::hot]] void expect_end(RunTensors& tensors, const NamedTensor* named, TensorHandle handle,
                             std::uint64_t number) {
    if (named != nullptr && !named->has_one_owner) return;
    if (named != nullptr && named->number < tensors.planned.size() && tensors.planned[named->number] == 0) {
        tensors.planned[named->number] = number;
        return;
    }
    watch(SlotRole::freed);
    remember(tensors, handle, number);
}

/// Ends the tensors that the run freed before it reached call site `site`.
void free_until(const ThreadState& state, RunTensors& tensors, std::uint32_t site) {
    std::span<const FreedTensor>& freed = tensors.next_freed;
    if (freed.empty() || freed.front().before > site || tensors.planned.empty()) return;
    for (; !freed.empty() && freed.front().before <= site; freed = freed.subspan(1))
        end_tensor(state, tensors, std::exchange(tensors.planned[freed.front().tensor], 0),
                   tensors::End::freed);
}

/// Removes the handle and returns its number, or 0 if the handle is not in the list.
std::uint64_t take(RunTensors& tensors, TensorHandle handle) {
    if (!tensors.may_have.test(hash_of(handle))) return 0;
    const auto found = std::find(tensors.handles.rbegin(), tensors.handles.rend(), handle);
    if (found == tensors.handles.rend()) return 0;
    const auto at = static_cast<std::size_t>(tensors.handles.rend() - found) - 1;
    const std::uint64_t number = tensors.numbers[at];
    tensors.handles[at] = tensors.handles.back();
    tensors.numbers[at] = tensors.numbers.back();
    tensors.handles.pop_back();
    tensors.numbers.pop_back();
    return number;
}

}  // namespace

void start_tensor_map(Session& session) {
    if (options().triage && session.ring() != nullptr)
        session.add(std::make_unique<TensorMapPart>(tensors_path(session.ring()->path()), "tensors"));
}

void note_inputs(ThreadState& state, const MeasuredModel& model, const OpenCall& run) {
    TensorMapFile* const map = map_of(state, model);
    if (map == nullptr) return;
    CallTensors& own = tensors_of(state);
    find_end_handles(run, EventSide::inputs, own.handles);
    for (std::size_t i = 0; i < own.handles.size(); ++i) {
        TensorHandle const handle = own.handles[i];
        tensors::Slot slot{};
        if (handle == nullptr || !is_on_gpu(model.api(), handle) ||
            !find_memory(own, model.api(), handle, slot))
            continue;
        set_name(model.input(i).label, slot);
        add(state, *map, run, tensors::Origin::input, slot);
    }
}

[[gnu::hot]] void note_site(ThreadState& state, const MeasuredModel& model, const CallMatcher::Match& match) {
    const OpenCall* const run = innermost_run(state);
    RunTensors* const found = match.site == kNone || run == nullptr ? nullptr : of_run(state, model, *run);
    if (found == nullptr) return;
    RunTensors& tensors = *found;
    tensors.site = match.site;
    tensors.is_placed = match.is_certain;
    tensors.created_since = 0;
    // If a call was skipped or the position is unknown, the frees of earlier tensors are unknown too. Those
    // tensors get no end. Deletes end the tensors that the run creates from here on.
    if (!match.is_next) tensors.planned.clear();
    free_until(state, tensors, match.site);
}

[[gnu::hot]] void note_created_tensor(ThreadState& state, const MeasuredModel& model,
                                      const StubFrame& frame) {
    const OpenCall* const run = innermost_run(state);
    if (run == nullptr || static_cast<std::int32_t>(frame.results[0]) != 0) return;
    const MakeArguments made(frame);
    if (made.returned == nullptr || !made.can_be_right()) return;
    RunTensors* const found = of_run(state, model, *run);
    if (found == nullptr) return;
    RunTensors& tensors = *found;
    const CreatedBefore& known = known_as(model, tensors, made);
    void* data = nullptr;
    const TensorHandle handle = *made.returned;
    if (known.slot.bytes == 0 || handle == nullptr || model.api().data_ptr(handle, &data) != 0 ||
        data == nullptr)
        return;
    const std::uint64_t sequence = state.session->last_seq();
    const std::uint64_t number = tensors.map->add(known.slot, [=](tensors::Slot& slot) {
        slot.address = reinterpret_cast<std::uint64_t>(data);
        slot.created_sequence = sequence;
        slot.run = run->run;
        slot.model = run->model;
        slot.origin = tensors::Origin::made;
    });
    // The free of a tensor that the source does not name cannot be determined.
    if (known.named != nullptr) expect_end(tensors, known.named, handle, number);
}

void note_returned_tensors(ThreadState& state, const MeasuredModel& model, const OpenCall& call) {
    const OpenCall* const run = innermost_run(state);
    const SitePlan* const plan = model.site(call.site);
    // Without the site it is unknown which of a proxy's tensors the call creates.
    RunTensors* const found = run == nullptr || plan == nullptr ? nullptr : of_run(state, model, *run);
    if (found == nullptr) return;
    RunTensors& tensors = *found;
    CallTensors& own = tensors_of(state);
    // A custom op may return any part of the memory that it allocated.
    const bool is_custom = call.passage.slot->role == SlotRole::proxy;
    begin_finding(own);
    created_arguments(*call.passage.slot->shim, *call.passage.frame, *plan, own.found);
    for (const CallArgument& argument : own.found) {
        if (argument.facts->role != Role::makes) continue;
        if (!is_on_gpu(model.api(), argument.handle)) continue;
        tensors::Slot slot{};
        const bool is_found =
            is_custom ? find_memory(own, model.api(), argument.handle, slot)
                      : find_returned_memory(own, model.api(), argument,
                                             nth(tensors.before->returned, tensors.returned++), slot);
        if (!is_found) continue;
        const NamedTensor* const named = argument.facts->returned_as;
        set_name(named == nullptr ? argument.facts->label : named->name, slot);
        const std::uint64_t number = add(state, *tensors.map, *run, tensors::Origin::returned, slot);
        expect_end(tensors, named, argument.handle, number);
    }
}

void note_tensor_freed(ThreadState& state, TensorHandle handle) {
    CallTensors* const own = state.parts.find<CallTensors>();
    if (own == nullptr) return;
    TensorLifetimes& made = own->made;
    for (std::size_t i = made.depth; i-- > 0;) {
        const std::uint64_t number = take(made.runs[i], handle);
        if (number != 0) return end_tensor(state, made.runs[i], number, tensors::End::freed);
    }
}

void note_end_of_run(ThreadState& state, const OpenCall& run, std::int32_t result) {
    CallTensors* const own = g_recording_memory ? state.parts.find<CallTensors>() : nullptr;
    if (own == nullptr) return;
    TensorLifetimes& made = own->made;
    RunTensors* const known = known_run(state, made, run.run);
    if (known == nullptr) return;
    --made.depth;
    made.last = nullptr;
    free_until(state, *known, kNone);
    // An exception can unwind a linked model's run unnoticed, so success alone does not prove that the
    // tensors outlived the run.
    if (result != 0)
        end_planned(state, *known, tensors::End::freed);
    else if (known->names->is_last(known->site))
        end_planned(state, *known, tensors::End::outlived);
    for (const std::uint64_t number : known->numbers)
        end_tensor(state, *known, number, tensors::End::outlived);
}

}  // namespace aoti_dbg
