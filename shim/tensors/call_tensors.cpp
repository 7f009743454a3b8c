#include "shim/tensors/call_tensors.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/fnv.hpp"
#include "base/message.hpp"
#include "shim/calls/call_lines.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/skipped_runs.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/tensors/measured_model.hpp"
#include "shim/tensors/retired_facts.hpp"

namespace aoti_dbg {
namespace {

// A kernel with more pointers than this finds its tensors by address alone.
constexpr std::size_t kMostPointers = 8192;

constexpr std::size_t kKnownConstants = 512;  // by address

std::string dispatched_key(const StubFrame& frame) {
    const auto* op = reinterpret_cast<const char*>(frame.integer(0));
    const auto* overload = reinterpret_cast<const char*>(frame.integer(1));
    return dispatcher_key(op == nullptr ? "" : op, overload == nullptr ? "" : overload);
}

std::uint32_t id_of(CallTensors& own, const MeasuredModel& model, std::uint16_t number, const Name& name,
                    const Passage& passage) {
    const SlotRole role = passage.slot == nullptr ? SlotRole::call : passage.slot->role;
    if (role == SlotRole::proxy)
        return model.plan().id_of(proxy_key(static_cast<std::uint32_t>(passage.frame->integer(1))));
    if (role == SlotRole::dispatcher) return model.plan().id_of(dispatched_key(*passage.frame));
    KnownId& known = own.known_ids[name.id % own.known_ids.size()];
    if (known.name != &name || known.model != number) known = {&name, number, model.id_of(&name)};
    return known.id;
}

/// Returns the size in bytes of each parameter of a kernel, as far as the driver reports it.
const std::vector<std::uint32_t>& parameter_sizes(CallTensors& own, const void* function) {
    const auto [known, is_new] = own.parameter_sizes.try_emplace(function);
    const DriverApi* api = driver_api();
    if (!is_new || api == nullptr || api->cuFuncGetParamInfo == nullptr) return known->second;
    const auto kernel = static_cast<CUfunction>(const_cast<void*>(function));
    for (std::size_t i = 0;; ++i) {
        std::size_t offset = 0;
        std::size_t bytes = 0;
        if (api->cuFuncGetParamInfo(kernel, i, &offset, &bytes) != CUDA_SUCCESS) break;
        known->second.push_back(static_cast<std::uint32_t>(bytes));
    }
    return known->second;
}

bool is_device_memory(std::uint64_t address) {
    const DriverApi* api = driver_api();
    unsigned type = 0;
    return api != nullptr &&
           api->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE;
}

/// Returns null if it is unknown.
CUcontext context_of_memory(std::uint64_t address) {
    const DriverApi* api = driver_api();
    CUcontext context = nullptr;
    if (api == nullptr || address == 0) return nullptr;
    const CUresult result = api->cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address);
    return result == CUDA_SUCCESS ? context : nullptr;
}

bool constant_at(CallTensors& own, const MeasuredModel& model, std::uint64_t address, SeenTensor& seen) {
    if (own.constants.empty()) own.constants.resize(kKnownConstants);
    // Weights are aligned to 512 bytes.
    KnownConstant& known = own.constants[(address >> 9U ^ address >> 18U) % kKnownConstants];
    const std::uint32_t changed = model.constants_changed();
    if (known.address != address || known.model != &model || known.changed != changed) {
        if (!model.constant_at(address, seen)) return false;
        known = {&model, address, changed, seen.facts};
    }
    seen = {address, known.facts};
    return true;
}

/// True if the model keeps the address of the weight. It fetches the address of a view of a weight for each
/// call.
bool is_kept(const PlannedArgument& facts) {
    return facts.is_constant && facts.is_whole();
}

/// Returns the known layouts of the model in the call's run. Returns null if it is not certain what the call
/// passes, or if the run does not show its container. The program can replace the data of weights that it
/// shares with a model, and no call of ours sees that.
KnownLayouts* layouts_of(CallTensors& own, const MeasuredModel& model, const OpenCall& call) {
    const OpenCall* const run = call.around;
    if (!call.is_site_certain || run->passage.frame == nullptr || own.followed != call.model) return nullptr;
    // After a run inside this one, the matcher starts anew.
    if (own.sized_run != call.run || are_weights_shared()) [[unlikely]]
        return nullptr;
    // Both numbers of changes only grow, and so does their sum.
    own.follower->layouts.expect({run->passage.frame->integer(0), own.input_sizes,
                                  run->container_changes + model.constants_changed()});
    return &own.follower->layouts;
}

const SeenFacts* known_facts(const CallTensors& own, const PlannedArgument& argument) {
    return own.layouts == nullptr ? nullptr : own.layouts->find(argument, own.sized_run);
}

/// Finds the pointers whose tensors have known facts. Returns false if others need their handles.
bool find_known_pointers(CallTensors& own) {
    bool are_all = true;
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        if (argument.kind != CallArgument::Kind::pointer) continue;
        const SeenFacts* const facts = argument.address == 0 ? nullptr : known_facts(own, *argument.facts);
        if (facts != nullptr)
            own.tensors[i] = {argument.address, facts};
        else
            are_all = are_all && is_kept(*argument.facts);
    }
    return are_all;
}

/// After an op, forgets the tensors that it may have resized. A kernel cannot do that.
void forget_resized(CallTensors& own) {
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        const bool is_written = argument.kind == CallArgument::Kind::tensor && argument.may_write;
        if (is_written && known_facts(own, *argument.facts) == nullptr) own.tensors[i] = {};
    }
}

/// Gives each pointer in `own.found` the handle of its tensor, or null if the fetch order does not determine
/// it.
void match_handles(CallTensors& own, const OpenCall& call) {
    own.passed.clear();
    for (const CallArgument& argument : own.found) {
        if (argument.kind == CallArgument::Kind::pointer)
            own.passed.push_back({argument.address, is_kept(*argument.facts)});
    }
    const bool is_launch = call.passage.slot == nullptr;
    FetchOrder order = is_launch ? FetchOrder::first_to_last : FetchOrder::last_to_first;
    const auto follower = own.followers.find(call.model);
    const bool is_followed = follower != own.followers.end();
    FetchOrder& known = !is_followed ? order
                        : is_launch  ? follower->second.launch_order
                                     : follower->second.kernel_order;
    if (!match_pointers(own.passed, own.pointers, known, own.handles)) return;
    std::size_t pointer = 0;
    for (CallArgument& argument : own.found)
        if (argument.kind == CallArgument::Kind::pointer) argument.handle = own.handles[pointer++];
}

/// Finds the tensor of a handle. A tensor with known facts takes one getter instead of a dozen.
bool find_by_handle(CallTensors& own, const ShimApi& api, const CallArgument& argument, SeenTensor& seen) {
    const SeenFacts* const facts = known_facts(own, *argument.facts);
    void* data = nullptr;
    if (facts != nullptr && api.data_ptr(argument.handle, &data) == 0) {
        seen = {reinterpret_cast<std::uint64_t>(data), facts};
        return true;
    }
    if (!own.reader.read(api, argument.handle, seen)) return false;
    const bool has_values = seen.facts->is_measurable() && seen.facts->count != 0;
    if (own.layouts != nullptr)
        own.layouts->keep(*argument.facts, own.sized_run, has_values ? seen.facts : nullptr);
    return true;
}

/// Looks up the tensor of an argument. Returns false if there is none or it is unknown.
bool find_tensor(CallTensors& own, const MeasuredModel& model, const CallArgument& argument,
                 SeenTensor& seen) {
    if (argument.kind == CallArgument::Kind::tensor || argument.handle != nullptr)
        return find_by_handle(own, model.api(), argument, seen);
    if (argument.address == 0) return false;
    if (argument.facts->is_constant && constant_at(own, model, argument.address, seen)) return true;
    // The search starts with the newest pointer. An older handle may be deleted and its memory reused by
    // another tensor.
    for (std::size_t i = own.pointers.size(); i-- > 0;) {
        if (own.pointers[i].address == argument.address)
            return own.reader.read(model.api(), own.pointers[i].handle, seen);
    }
    // Calls that pass the tensor elsewhere do not show where this address lies in it.
    if (own.layouts != nullptr) own.layouts->keep(*argument.facts, own.sized_run, nullptr);
    if (!model.is_on_cuda()) return false;
    // Only the value of the argument is known.
    if (constant_at(own, model, argument.address, seen)) return true;
    if (!is_device_memory(argument.address)) return false;
    seen = TensorReader::only_address(argument.address);
    return true;
}

}  // namespace

CallTensors::~CallTensors() {
    retire_facts(reader.take_all());
}

void begin_finding(CallTensors& own) {
    own.found_for = 0;
    own.found.clear();
    own.layouts = nullptr;
    if (auto forgotten = own.reader.take_forgotten(); !forgotten.empty()) [[unlikely]] {
        retire_facts(std::move(forgotten));
        for (auto& [model, follower] : own.followers)
            follower.layouts.forget();
    }
}

void decode_arguments(CallTensors& own, const MeasuredModel& model, const OpenCall& call, When when) {
    if (own.found_for == call.seq) {
        if (when == When::after) forget_resized(own);
        return;
    }
    begin_finding(own);
    const SitePlan* plan = model.site(call.site);
    const Passage& passage = call.passage;
    if (passage.values != nullptr) {
        if (plan != nullptr) passed_arguments(passage.values->values, *plan, own.found);
    } else if (passage.slot == nullptr) {
        if (plan != nullptr && plan->launched)
            launch_arguments(passage.parameters, *plan->launched, own.found);
        else
            unplanned_arguments(passage.parameters, parameter_sizes(own, passage.function), own.found);
    } else if (passage.slot->kind == ring::CallKind::cpp_kernel) {
        kernel_arguments(*passage.frame, plan, passage.slot->integers, own.found);
    } else {
        shim_arguments(*passage.slot->shim, *passage.frame, plan, when == When::after, own.found);
    }
    own.layouts = layouts_of(own, model, call);
    own.tensors.assign(own.found.size(), SeenTensor());
    if (!find_known_pointers(own)) match_handles(own, call);
    const bool gives_tensors =
        passage.values != nullptr || (passage.slot != nullptr && passage.slot->gives_tensors);
    own.found_for = when == When::before && !gives_tensors && !moves_tensors(call) ? call.seq : 0;
}

void look_up(CallTensors& own, const MeasuredModel& model, std::size_t i) {
    find_tensor(own, model, own.found[i], own.tensors[i]);
}

void find_arguments(CallTensors& own, const MeasuredModel& model, const OpenCall& call, When when) {
    decode_arguments(own, model, call, when);
    for (std::size_t i = 0; i < own.found.size(); ++i)
        if (own.found[i].kind != CallArgument::Kind::scalar && own.tensors[i].facts == nullptr)
            look_up(own, model, i);
}

void note_pointer(ThreadState* state, MeasuredModel& model, TensorHandle handle) {
    if (handle == nullptr) return;
    const OpenCall* run = state == nullptr ? nullptr : innermost_run(*state);
    if (run == nullptr) return model.note_constant(handle);
    CallTensors& own = tensors_of(*state);
    const bool is_other_run = std::exchange(own.pointers_run, run->run) != run->run;
    if (std::exchange(own.pointers_are_old, false) || is_other_run || own.pointers.size() >= kMostPointers) {
        own.pointers.clear();
        own.are_constants = false;
    }
    void* pointer = nullptr;
    if (model.api().data_ptr(handle, &pointer) != 0) return;
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    own.pointers.push_back({address, handle});
    // The first run after a weight update may fold constants at run time, and then fetches all of them.
    if (run->run == own.matched_run) return;
    own.are_constants = own.are_constants || model.has_constant_at(address);
    if (own.are_constants) model.note_constant(handle);
}

void note_input_sizes(ThreadState& state, const MeasuredModel& model, const OpenCall& run) {
    if (run.passage.frame == nullptr || (!measuring() && !saving() && !ordering())) return;
    CallTensors& own = tensors_of(state);
    own.sized_run = run.run;
    own.input_sizes = kFnvBegin;
    find_end_handles(run, EventSide::inputs, own.handles);
    for (const TensorHandle handle : own.handles) {
        std::int64_t rank = 0;
        const std::int64_t* sizes = nullptr;
        const bool is_known = handle != nullptr && model.api().has_tensor(handle) &&
                              model.api().dim(handle, &rank) == 0 && model.api().sizes(handle, &sizes) == 0;
        own.input_sizes = fnv1a(static_cast<std::uint64_t>(is_known ? rank : -1), own.input_sizes);
        for (std::int64_t i = 0; is_known && i < rank; ++i)
            own.input_sizes = fnv1a(static_cast<std::uint64_t>(sizes[i]), own.input_sizes);
    }
}

[[gnu::hot]] CallMatcher::Match match_site(ThreadState& state, const MeasuredModel& model,
                                           std::uint16_t number, std::uint32_t run, const Name& name,
                                           const Passage& passage) {
    CallTensors& own = tensors_of(state);
    // Handles of an earlier call or of another run may be deleted.
    if (std::exchange(own.pointers_are_old, true) || own.pointers_run != run) own.pointers.clear();
    const std::uint32_t id = id_of(own, model, number, name, passage);
    if (id != kNone || !model.has_sites()) {
        own.matched_run = run;
        // After the first call of a run the constants are known, and no other feature needs pointers.
        if (!measuring() && !saving() && !ordering()) pass_by(SlotRole::pointer);
    }
    if (id == kNone) return {};
    if (own.follower == nullptr || own.followed != number) [[unlikely]] {
        own.follower = &own.followers.try_emplace(number, model.plan()).first->second;
        own.followed = number;
    }
    Follower& follower = *own.follower;
    if (std::exchange(follower.run, run) != run) {
        follower.matcher.begin_run();
        own.parameter_sizes.clear();
    }
    const CallMatcher::Match match = follower.matcher.match(id);
    if (follower.matcher.take_lost()) {
        message(Severity::info,
                "a model makes its calls in a different order than its wrapper source. Names of tensors may "
                "be wrong around '%s'.",
                name.printed.c_str());
    }
    if (g_recording_memory) note_site(state, model, match);
    return match;
}

const SiteFacts& site_facts(const MeasuredModel* model, const OpenCall& call) {
    const SitePlan* const plan = model == nullptr ? nullptr : model->site(call.site);
    if (plan != nullptr) return plan->facts;
    ThreadState* const state = any_call_lines() ? thread_state_if_any() : nullptr;
    return unknown_site(*call.name, call.kind, state == nullptr ? CallLine() : line_of_call(*state, call));
}

void find_end_handles(const OpenCall& run, EventSide side, std::vector<TensorHandle>& handles) {
    const bool are_inputs = side == EventSide::inputs;
    handles.clear();
    if (run.passage.values != nullptr) {
        for (const PassedValue& value : run.passage.values->values)
            handles.push_back(value.tensor);
        return;
    }
    const StubFrame& frame = *run.passage.frame;
    const auto* passed = reinterpret_cast<const TensorHandle*>(frame.integer(are_inputs ? 1 : 3));
    if (passed != nullptr) handles.assign(passed, passed + frame.integer(are_inputs ? 2 : 4));
}

CUcontext find_end_tensors(CallTensors& own, const MeasuredModel& model, const OpenCall& run,
                           EventSide side) {
    find_end_handles(run, side, own.handles);
    begin_finding(own);
    own.tensors.resize(own.handles.size());
    CUcontext context = nullptr;
    for (std::size_t i = 0; i < own.handles.size(); ++i) {
        SeenTensor& tensor = own.tensors[i];
        tensor.facts = nullptr;
        if (own.handles[i] == nullptr || !own.reader.read(model.api(), own.handles[i], tensor)) continue;
        if (context == nullptr && tensor.facts->place == Place::cuda)
            context = context_of_memory(tensor.address);
    }
    return context;
}

bool has_arguments(const Passage& passage) {
    if (passage.values != nullptr) return true;
    if (passage.slot == nullptr) return passage.parameters != nullptr;
    if (passage.slot->role == SlotRole::dispatcher) return false;
    return passage.slot->kind == ring::CallKind::cpp_kernel || passage.slot->shim != nullptr;
}

}  // namespace aoti_dbg
