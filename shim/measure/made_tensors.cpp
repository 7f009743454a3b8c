#include "shim/measure/made_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
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

bool is_under_way(const ThreadState& state, std::uint32_t run) {
    const auto* const begin = state.open.data();
    return std::any_of(begin, begin + state.depth, [run](const OpenCall& call) {
        return call.kind == ring::CallKind::run && call.run == run;
    });
}

/// Of `run`, the innermost; null where nothing is known of it yet. Those that an exception has left show
/// here.
RunTensors* known_run(const ThreadState& state, MadeTensors& made, std::uint32_t run) {
    for (; made.depth > 0; --made.depth) {
        RunTensors& innermost = made.runs[made.depth - 1];
        if (innermost.run == run) return &innermost;
        if (is_under_way(state, innermost.run)) return nullptr;
    }
    return nullptr;
}

RunTensors& of_run(const ThreadState& state, MadeTensors& made, std::uint32_t run) {
    if (RunTensors* const known = known_run(state, made, run); known != nullptr) return *known;
    if (made.runs.size() == made.depth) made.runs.emplace_back();
    RunTensors& fresh = made.runs[made.depth++];
    fresh.run = run;
    fresh.site = kNone;
    fresh.is_placed = true;
    fresh.made_since = 0;
    fresh.handles.clear();
    fresh.numbers.clear();
    fresh.may_have.reset();
    return fresh;
}

std::size_t bit_of(TensorHandle handle) {
    // Handles are objects on the heap, some tens of bytes apart.
    const std::uint64_t mixed = (reinterpret_cast<std::uint64_t>(handle) >> 4U) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(mixed >> 54U);
}

/// False for what is not on a GPU, or has no elements. Of what ops return much is on the host, or nothing at
/// all: that is found out first.
bool find_memory(MeasuringThread& own, const ShimApi& api, TensorHandle handle, tensors::Slot& slot) {
    bool is_defined = handle != nullptr;
    if (is_defined && api.is_defined != nullptr && api.is_defined(handle, &is_defined) != 0) return false;
    std::int32_t device = api.cpu;
    if (!is_defined || api.device_type(handle, &device) != 0 || device != api.cuda) return false;
    SeenTensor seen;
    if (!own.reader.read(api, handle, seen)) return false;
    slot.address = seen.address;
    slot.bytes = seen.facts->covered_bytes;
    return slot.address != 0 && slot.bytes != 0;
}

/// The sizes or strides that aoti_torch_empty_strided was called with; none where they cannot be right.
std::span<const std::int64_t> made_with(const StubFrame& frame, std::size_t argument) {
    const auto* const numbers = reinterpret_cast<const std::int64_t*>(frame.integer(argument));
    const std::uint64_t rank = frame.integer(0);
    return {numbers, numbers == nullptr || rank > kMaxRank ? 0 : rank};
}

/// The same for what it has just made: only where it lies has to be asked for.
bool find_made_memory(const ShimApi& api, const StubFrame& frame, TensorHandle handle, tensors::Slot& slot) {
    const auto number = [&frame](std::size_t n) { return static_cast<std::int32_t>(frame.integer(n)); };
    constexpr std::size_t kDtype = 3;
    constexpr std::size_t kDeviceType = 4;
    const std::span<const std::int64_t> sizes = made_with(frame, 1);
    const std::span<const std::int64_t> strides = made_with(frame, 2);
    const bool are_known = sizes.size() == frame.integer(0) && strides.size() == sizes.size();
    const std::optional<DType> dtype = api.dtype_of(number(kDtype));
    if (number(kDeviceType) != api.cuda || !dtype || !are_known) return false;
    const std::optional<std::uint64_t> elements = reach(sizes, strides);
    void* data = nullptr;
    if (elements.value_or(0) == 0 || api.data_ptr(handle, &data) != 0) return false;
    slot.address = reinterpret_cast<std::uint64_t>(data);
    slot.bytes = *elements * element_size(*dtype);
    return slot.address != 0;
}

void set_name(std::string_view name, tensors::Slot& slot) {
    constexpr std::string_view kCut = "..";
    memcpy(slot.name, name.data(), std::min(name.size(), sizeof slot.name));
    if (name.size() > sizeof slot.name)
        memcpy(slot.name + sizeof slot.name - kCut.size(), kCut.data(), kCut.size());
}

/// Returns its number in the map.
std::uint64_t add(ThreadState& state, TensorMapFile& map, const OpenCall& run, tensors::Origin origin,
                  tensors::Slot& slot) {
    slot.made_sequence = state.session->last_seq();
    slot.run = run.run;
    slot.model = run.model;
    slot.origin = origin;
    return map.add(slot);
}

void remember(RunTensors& tensors, TensorHandle handle, std::uint64_t number) {
    if (tensors.handles.size() >= kMostHandles) return;
    tensors.handles.push_back(handle);
    tensors.numbers.push_back(number);
    tensors.may_have.set(bit_of(handle));
}

/// The number of what goes by this handle, which is forgotten; 0: it is none of these.
std::uint64_t take(RunTensors& tensors, TensorHandle handle) {
    if (!tensors.may_have.test(bit_of(handle))) return 0;
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

void note_inputs(ThreadState& state, const MeasuredModel& model, const OpenCall& run,
                 const TensorHandle* handles, std::size_t count) {
    TensorMapFile* const map = map_of(state, model);
    if (map == nullptr || handles == nullptr) return;
    MeasuringThread& own = own_part(state);
    for (std::size_t i = 0; i < count; ++i) {
        tensors::Slot slot{};
        if (!find_memory(own, model.api(), handles[i], slot)) continue;
        set_name(model.input(i).label, slot);
        add(state, *map, run, tensors::Origin::input, slot);
    }
}

void note_site(ThreadState& state, std::uint32_t run, const CallMatcher::Match& match) {
    if (match.site == kNone) return;
    RunTensors& tensors = of_run(state, own_part(state).made, run);
    tensors.site = match.site;
    tensors.is_placed = match.is_certain;
    tensors.made_since = 0;
}

void note_made_tensor(ThreadState& state, const MeasuredModel& model, const StubFrame& frame) {
    constexpr std::size_t kReturned = 6;
    TensorMapFile* const map = map_of(state, model);
    const OpenCall* const run = innermost_run(state);
    const auto* const returned = reinterpret_cast<const TensorHandle*>(frame.integer(kReturned));
    const bool is_made = static_cast<std::int32_t>(frame.results[0]) == 0 && returned != nullptr;
    if (map == nullptr || run == nullptr || !is_made) return;
    RunTensors& tensors = of_run(state, own_part(state).made, run->run);
    const std::uint32_t nth = tensors.made_since++;
    tensors::Slot slot{};
    if (*returned == nullptr || !find_made_memory(model.api(), frame, *returned, slot)) return;
    const NamedTensor* const named =
        tensors.is_placed ? model.allocation_names().find(tensors.site, nth, made_with(frame, 1)) : nullptr;
    if (named != nullptr) set_name(named->name, slot);
    const std::uint64_t number = add(state, *map, *run, tensors::Origin::made, slot);
    // Of what is not known in the source nobody can say when its memory goes.
    if (named != nullptr && named->has_one_owner) remember(tensors, *returned, number);
}

void note_returned_tensors(ThreadState& state, const MeasuredModel& model, const OpenCall& call) {
    TensorMapFile* const map = map_of(state, model);
    const OpenCall* const run = innermost_run(state);
    const SitePlan* const plan = model.site(call.site);
    // Without its site nobody knows which of a proxy's tensors it makes.
    if (map == nullptr || run == nullptr || plan == nullptr) return;
    MeasuringThread& own = own_part(state);
    RunTensors& tensors = of_run(state, own.made, run->run);
    begin_finding(own);
    made_arguments(*call.passage.slot->shim, *call.passage.frame, *plan, own.found);
    for (const CallArgument& argument : own.found) {
        tensors::Slot slot{};
        if (argument.facts->role != Role::makes || !find_memory(own, model.api(), argument.handle, slot))
            continue;
        const NamedTensor* const named = argument.facts->returned_as;
        set_name(named == nullptr ? argument.facts->label : named->name, slot);
        const std::uint64_t number = add(state, *map, *run, tensors::Origin::returned, slot);
        if (named == nullptr || named->has_one_owner) remember(tensors, argument.handle, number);
    }
}

void note_let_go(ThreadState& state, TensorHandle handle) {
    if (state.measuring == nullptr) return;
    MadeTensors& made = state.measuring->made;
    for (std::size_t i = made.depth; i-- > 0;) {
        const std::uint64_t number = take(made.runs[i], handle);
        if (number == 0) continue;
        TensorMapFile* const map = state.session->tensor_map();
        if (map != nullptr) map->end(number, tensors::End::let_go, state.session->last_seq());
        return;
    }
}

void note_end_of_run(ThreadState& state, const OpenCall& run) {
    if (!g_recording_memory || state.measuring == nullptr) return;
    MadeTensors& made = state.measuring->made;
    const RunTensors* const known = known_run(state, made, run.run);
    if (known == nullptr) return;
    --made.depth;
    const std::vector<std::uint64_t>& numbers = known->numbers;
    TensorMapFile* const map = numbers.empty() ? nullptr : state.session->tensor_map();
    for (const std::uint64_t number : numbers)
        if (map != nullptr) map->end(number, tensors::End::outlived, state.session->last_seq());
}

}  // namespace aoti_dbg
