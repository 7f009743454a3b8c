#include "shim/measure/measuring.hpp"

#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/bind/run_failure.hpp"
#include "shim/bind/slots.hpp"
#include "shim/measure/arguments.hpp"
#include "shim/measure/host_measuring.hpp"
#include "shim/measure/measured_model.hpp"
#include "shim/measure/measured_side.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/measure/pending.hpp"
#include "shim/measure/saving.hpp"
#include "shim/observe/calls.hpp"
#include "shim/observe/clock.hpp"
#include "shim/observe/names.hpp"
#include "shim/observe/process.hpp"
#include "shim/observe/session.hpp"
#include "shim/observe/thread_state.hpp"
#include "shim/report/measured_output.hpp"
#include "stats_kernels/float_state.hpp"

namespace aoti_dbg {
namespace {

// A kernel that takes more tensors than this has the first of them unmeasured.
constexpr std::size_t kMostPointers = 8192;

/// Follows the runs of one model in one thread.
struct Follower {
    explicit Follower(const CallPlan& plan) : matcher(plan) {}
    CallMatcher matcher;
    std::uint32_t run = ring::kNoRun;
};

/// What a model said of a constant, as long as it has not changed its mind.
struct KnownConstant {
    const MeasuredModel* model = nullptr;
    std::uint64_t address = 0;
    std::uint32_t changed = 0;
    const SeenFacts* facts = nullptr;
};
constexpr std::size_t kKnownConstants = 512;  // by address

struct FetchedPointer {
    std::uint64_t address = 0;
    TensorHandle handle = nullptr;
};

}  // namespace

struct MeasuringThread {
    std::vector<FetchedPointer> pointers;      // since the last call
    bool pointers_are_old = false;             // a call has taken them
    bool are_constants = false;                // since a constant was among them
    std::uint32_t matched_run = ring::kNoRun;  // the last one that a call of was matched
    std::map<std::uint16_t, Follower> followers;
    TensorReader reader;
    std::vector<KnownConstant> constants;
    StreamPoint* point = nullptr;  // of the last measured call
    Measurer::FoundPoint found_point;
    std::unordered_map<const void*, std::vector<std::uint32_t>> parameter_sizes;  // by function, of one run
    std::uint64_t thread = static_cast<std::uint64_t>(gettid());
    // Of the call at hand, kept for their memory: and for its other side, where nothing came between.
    std::uint64_t found_for = 0;  // sequence of the call
    std::vector<CallArgument> found;
    std::vector<SeenTensor> tensors;  // of `found`; null facts: none
    SideState side;
};

void DropMeasuringThread::operator()(MeasuringThread* state) const {
    retire_facts(state->reader.take_all());
    delete state;
}

namespace {

MeasuringThread& own_part(ThreadState& state) {
    if (!state.measuring) state.measuring.reset(new MeasuringThread);
    return *state.measuring;
}

std::string dispatched_key(const StubFrame& frame) {
    const auto* op = reinterpret_cast<const char*>(frame.integer(0));
    const auto* overload = reinterpret_cast<const char*>(frame.integer(1));
    return dispatcher_key(op == nullptr ? "" : op, overload == nullptr ? "" : overload);
}

std::uint32_t id_of(const MeasuredModel& model, const Name& name, const Passage& passage) {
    if (passage.slot == nullptr) return model.id_of(&name);
    switch (passage.slot->role) {
        case SlotRole::proxy:
            return model.plan().id_of(proxy_key(static_cast<std::uint32_t>(passage.frame->integer(1))));
        case SlotRole::dispatcher:
            return model.plan().id_of(dispatched_key(*passage.frame));
        default:
            return model.id_of(&name);
    }
}

/// Bytes of each parameter of a kernel, as far as the driver tells.
const std::vector<std::uint32_t>& parameter_sizes(MeasuringThread& own, const void* function) {
    const auto [known, is_new] = own.parameter_sizes.try_emplace(function);
    const GpuApi* api = gpu_api();
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
    const GpuApi* api = gpu_api();
    unsigned type = 0;
    return api != nullptr &&
           api->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE;
}

bool constant_at(MeasuringThread& own, const MeasuredModel& model, std::uint64_t address, SeenTensor& seen) {
    if (own.constants.empty()) own.constants.resize(kKnownConstants);
    // Weights lie at multiples of 512 bytes.
    KnownConstant& known = own.constants[(address >> 9U ^ address >> 18U) % kKnownConstants];
    const std::uint32_t changed = model.constants_changed();
    if (known.address != address || known.model != &model || known.changed != changed) {
        if (!model.constant_at(address, seen)) return false;
        known = {&model, address, changed, seen.facts};
    }
    seen = {address, known.facts};
    return true;
}

/// Looks the tensor of an argument up; false if there is none, or none that is known.
bool find_tensor(MeasuringThread& own, const MeasuredModel& model, const CallArgument& argument,
                 bool on_device, SeenTensor& seen) {
    if (argument.kind == CallArgument::Kind::tensor)
        return own.reader.read(model.api(), argument.handle, seen);
    if (argument.address == 0) return false;
    if (argument.facts->is_constant && constant_at(own, model, argument.address, seen)) return true;
    // The newest first: a handle from before may be gone, and its memory another tensor's.
    for (std::size_t i = own.pointers.size(); i-- > 0;) {
        if (own.pointers[i].address == argument.address)
            return own.reader.read(model.api(), own.pointers[i].handle, seen);
    }
    if (!on_device) return false;
    // Nothing is known of the argument but its value.
    if (constant_at(own, model, argument.address, seen)) return true;
    if (!is_device_memory(argument.address)) return false;
    seen = TensorReader::only_address(argument.address);
    return true;
}

/// Whether more handles are there after the call than before it.
bool makes_tensors(const Passage& passage) {
    return passage.slot != nullptr && passage.slot->shim != nullptr &&
           passage.slot->shim->args.find_first_of("rt") != std::string_view::npos;
}

/// What was found for another call is used no more.
void begin_finding(MeasuringThread& own) {
    own.found_for = 0;
    own.found.clear();
    if (auto forgotten = own.reader.take_forgotten(); !forgotten.empty()) [[unlikely]]
        retire_facts(std::move(forgotten));
}

/// Fills `found` and `tensors`.
void find_arguments(MeasuringThread& own, const MeasuredModel& model, const OpenCall& call, When when) {
    if (when == When::after && own.found_for == call.seq) return;
    begin_finding(own);
    const SitePlan* plan = model.site(call.site);
    const Passage& passage = call.passage;
    if (passage.slot == nullptr) {
        const auto launched = plan == nullptr ? std::span<const std::uint32_t>() : model.launched_at(*plan);
        const bool ask = launched.empty();
        launch_arguments(passage.parameters, plan, launched,
                         ask ? std::span<const std::uint32_t>(parameter_sizes(own, passage.function))
                             : std::span<const std::uint32_t>(),
                         own.found);
    } else if (passage.slot->kind == ring::CallKind::cpp_kernel) {
        kernel_arguments(*passage.frame, plan, passage.slot->integers, own.found);
    } else {
        shim_arguments(*passage.slot->shim, *passage.frame, plan, when == When::after, own.found);
    }
    own.tensors.resize(own.found.size());
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        own.tensors[i].facts = nullptr;
        if (own.found[i].kind != CallArgument::Kind::scalar)
            find_tensor(own, model, own.found[i], model.is_on_cuda(), own.tensors[i]);
    }
    own.found_for = when == When::before && !makes_tensors(passage) ? call.seq : 0;
}

MeasuredCall described(const ThreadState& state, const OpenCall& call, EventSide side) {
    MeasuredCall described;
    described.side = side;
    described.sequence = call.seq;
    described.time_ns = unix_nanoseconds();
    described.thread = state.measuring->thread;
    described.stream = call.stream;
    described.model = call.model;
    described.run = call.run;
    described.call = call.number;
    return described;
}

const SiteFacts& site_facts(const SitePlan* plan, const OpenCall& call) {
    return plan != nullptr ? plan->facts : unknown_site(*call.name, call.kind);
}

/// From here on work goes to another stream: what one knows the other does not order.
void move_to(MeasuringThread& own, StreamPoint* point) {
    StreamPoint* before = std::exchange(own.point, point);
    if (before == point) return;
    for (StreamPoint* either : {before, point}) {
        if (either == nullptr) continue;
        const std::lock_guard lock(either->mutex());
        either->forget_measured();
    }
}

/// The stream of a call is the launch's own, else the run's.
StreamPoint* point_of(ThreadState& state, const OpenCall& call) {
    MeasuringThread& own = own_part(state);
    move_to(own,
            state.session->measurer()->point_of(reinterpret_cast<CUstream>(call.stream), own.found_point));
    return own.point;
}

void say_that_results_are_late(std::uint32_t run) {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    message(
        Severity::warn,
        "not all results of run %u were there after ten seconds; it returns as it would without "
        "AOTI_DBG_ON_FINDING=raise, whatever is found in it later; measure fewer kernels (AOTI_DBG_KERNELS) "
        "or runs (AOTI_DBG_RUNS)",
        run);
}

}  // namespace

void note_pointer(ThreadState* state, MeasuredModel& model, TensorHandle handle) {
    if (handle == nullptr) return;
    const OpenCall* run = state == nullptr ? nullptr : innermost_run(*state);
    if (run == nullptr) return model.note_constant(handle);
    MeasuringThread& own = own_part(*state);
    if (std::exchange(own.pointers_are_old, false)) {
        own.pointers.clear();
        own.are_constants = false;
    }
    void* pointer = nullptr;
    if (own.pointers.size() >= kMostPointers || model.api().data_ptr(handle, &pointer) != 0 ||
        pointer == nullptr)
        return;
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    own.pointers.push_back({address, handle});
    // The first run after an update folds constants where that is done at run time, and asks for all of them.
    if (run->run == own.matched_run) return;
    own.are_constants = own.are_constants || model.has_constant_at(address);
    if (own.are_constants) model.note_constant(handle);
}

std::uint32_t match_site(ThreadState& state, const MeasuredModel& model, std::uint16_t number,
                         std::uint32_t run, const Name& name, const Passage& passage) {
    MeasuringThread& own = own_part(state);
    own.pointers_are_old = true;
    const std::uint32_t id = id_of(model, name, passage);
    if (id != kNone || !model.has_sites()) own.matched_run = run;
    if (id == kNone) return kNone;
    Follower& follower = own.followers.try_emplace(number, model.plan()).first->second;
    if (std::exchange(follower.run, run) != run) {
        follower.matcher.begin_run();
        own.parameter_sizes.clear();
    }
    const CallMatcher::Match match = follower.matcher.match(id);
    if (follower.matcher.take_lost()) {
        message(Severity::info,
                "calls of a model come in another order than its wrapper source has them; names of tensors "
                "may be wrong around '%s'",
                name.printed.c_str());
    }
    return match.site;
}

bool has_arguments(const Passage& passage) {
    if (passage.slot == nullptr) return passage.parameters != nullptr;
    if (passage.slot->role == SlotRole::dispatcher) return false;
    return passage.slot->kind == ring::CallKind::cpp_kernel || passage.slot->shim != nullptr;
}

namespace {

/// Whether there is a tensor to look at: where the call failed nothing may have been made.
bool is_there(const MeasuringThread& own, std::size_t i, When when, std::int32_t result) {
    const CallArgument& argument = own.found[i];
    if (argument.kind == CallArgument::Kind::scalar || own.tensors[i].facts == nullptr) return false;
    const bool is_made = argument.only_after || argument.facts->role == Role::makes;
    return !is_made || (when == When::after && result == 0);
}

Saving::Side saved_side(const OpenCall& call, EventSide side, std::string_view kernel) {
    return {side, call.model, call.run, call.number, call.seq, kernel};
}

void save_call(ThreadState& state, const OpenCall& call, When when, const SitePlan* plan,
               std::int32_t result) {
    Saving* saving = state.session->saving();
    if (saving == nullptr) return;
    const MeasuringThread& own = *state.measuring;
    const EventSide side = when == When::before ? EventSide::before : EventSide::after;
    const Saving::Side saved = saved_side(call, side, site_facts(plan, call).kernel);
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        if (is_there(own, i, when, result)) saving->save(saved, *own.found[i].facts, own.tensors[i]);
    }
}

void save_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
               std::uint64_t count) {
    Saving* saving = state.session->saving();
    if (saving == nullptr) return;
    const MeasuringThread& own = *state.measuring;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (own.tensors[i].facts == nullptr) continue;
        saving->save(saved_side(run, side, {}), side == EventSide::inputs ? model.input(i) : model.output(i),
                     own.tensors[i]);
    }
}

}  // namespace

void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  const TensorsWanted& wanted, std::int32_t result) {
    const DefaultFloatState float_state;
    MeasuringThread& own = own_part(state);
    const SitePlan* plan = model.site(call.site);
    // Asks libtorch, which may have work done by the driver: before any lock is taken.
    find_arguments(own, model, call, when);
    if (wanted.saved) save_call(state, call, when, plan, result);
    if (!wanted.measured()) return;
    MeasuredSide side(own.side, *state.session->measurer(), model.api(), call, wanted);
    if (model.is_on_cuda()) {
        StreamPoint* point = point_of(state, call);
        if (point == nullptr || !side.at(*point, when == When::before)) {
            if (wanted.printed) report_name(state, call, when);
            return;
        }
    }
    // All of what the call has written is forgotten before any of it is looked at.
    for (std::size_t i = 0; when == When::after && i < own.found.size(); ++i) {
        if (!own.found[i].may_write || own.found[i].kind == CallArgument::Kind::scalar) continue;
        if (own.tensors[i].facts != nullptr) {
            side.note_written(own.tensors[i]);
        } else {
            side.note_unknown_write();
        }
    }
    if (when == When::after && (result != 0 || plan == nullptr)) side.note_unknown_write();
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        if (argument.kind == CallArgument::Kind::scalar) {
            side.add_scalar(argument);
        } else if (is_there(own, i, when, result)) {
            side.add_tensor(*argument.facts, own.tensors[i]);
        }
    }
    MeasuredCall event = described(state, call, when == When::before ? EventSide::before : EventSide::after);
    event.site = &site_facts(plan, call);
    event.result = result;
    side.report(event, when == When::before);
}

void report_name(ThreadState& state, const OpenCall& call, When when) {
    MeasuringThread& own = own_part(state);
    MeasuredCall event = described(state, call, when == When::before ? EventSide::before : EventSide::after);
    event.name_only = true;
    event.site = &unknown_site(*call.name, call.kind);
    event.nesting = nesting_of(state);
    SeenCall seen;
    seen.call = event;
    seen.printed = true;
    own.side.arguments.clear();
    state.session->measurer()->report(seen, own.side.arguments, nullptr);
}

void measure_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
                  const TensorsWanted& wanted) {
    if (run.passage.frame == nullptr) return;
    const DefaultFloatState float_state;
    const bool are_inputs = side == EventSide::inputs;
    const auto* handles =
        reinterpret_cast<const TensorHandle*>(run.passage.frame->integer(are_inputs ? 1 : 3));
    const std::uint64_t count = handles == nullptr ? 0 : run.passage.frame->integer(are_inputs ? 2 : 4);
    MeasuringThread& own = own_part(state);
    begin_finding(own);
    own.tensors.resize(count);
    CUcontext context = nullptr;
    for (std::uint64_t i = 0; i < count; ++i) {
        SeenTensor& tensor = own.tensors[i];
        tensor.facts = nullptr;
        if (handles[i] == nullptr || !own.reader.read(model.api(), handles[i], tensor)) continue;
        // Before the model has set its device this thread may have no context at all, or another one.
        if (context == nullptr && tensor.facts->place == Place::cuda)
            context = Measurer::context_of_memory(tensor.address);
    }
    if (wanted.saved) save_ends(state, model, run, side, count);
    if (!wanted.measured()) return;
    MeasuredSide measured(own.side, *state.session->measurer(), model.api(), run, wanted);
    if (model.is_on_cuda()) {
        move_to(own, state.session->measurer()->point_of(reinterpret_cast<CUstream>(run.stream), context));
        if (own.point != nullptr && !measured.at(*own.point)) return;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        if (own.tensors[i].facts == nullptr) continue;
        measured.add_tensor(are_inputs ? model.input(i) : model.output(i), own.tensors[i]);
    }
    measured.report(described(state, run, side), !are_inputs);
}

void end_measured_run(ThreadState& state, const OpenCall& run) {
    Session& session = *state.session;
    StreamPoint* point = own_part(state).point;
    if (point != nullptr) {
        const std::lock_guard lock(point->mutex());
        point->launch();
        point->forget_measured();
    }
    Saving* saving = session.present_saving();
    const bool raises = measuring() && options().on_finding == OnFinding::raise;
    const bool keeps_if_found = saving != nullptr && options().save_on == SaveOn::finding;
    bool is_found = false;
    if (raises || (keeps_if_found && measuring())) {
        if (!session.measurer()->wait_until_written()) say_that_results_are_late(run.run);
        is_found = session.output()->takes_found_in(run.run);
    }
    if (saving != nullptr) saving->end_of_run(run.run, is_found);
    if (raises && is_found) fail_run(state, run);
}

void forget_measured(ThreadState& state) {
    if (!state.measuring || state.measuring->point == nullptr) return;
    StreamPoint& point = *state.measuring->point;
    const std::lock_guard lock(point.mutex());
    point.forget_measured();
}

void note_unseen_work() {
    ThreadState* state = thread_state_if_any();
    if (state == nullptr || state->depth == 0 || state->top()->kind != ring::CallKind::run) return;
    const ErrnoKeeper errno_keeper;
    forget_measured(*state);
}

}  // namespace aoti_dbg
