#include "shim/measure/measuring.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "shim/bind/slots.hpp"
#include "shim/measure/arguments.hpp"
#include "shim/measure/measured_model.hpp"
#include "shim/measure/tensor_text.hpp"
#include "shim/observe/calls.hpp"
#include "shim/observe/names.hpp"
#include "shim/observe/process.hpp"
#include "shim/observe/session.hpp"
#include "shim/observe/thread_state.hpp"
#include "stats_kernels/cpu_statistics.hpp"
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

struct FetchedPointer {
    const void* address = nullptr;
    TensorHandle handle = nullptr;
};

}  // namespace

struct MeasuringThread {
    std::vector<FetchedPointer> pointers;  // since the last call
    bool pointers_are_old = false;         // a call has taken them
    std::map<std::uint16_t, Follower> followers;
};

void DropMeasuringThread::operator()(MeasuringThread* state) const {
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

std::uint32_t id_of(const MeasuredModel& model, const Passage& passage) {
    switch (passage.slot->role) {
        case SlotRole::proxy:
            return model.plan().id_of(proxy_key(static_cast<std::uint32_t>(passage.frame->integer(1))));
        case SlotRole::dispatcher:
            return model.plan().id_of(dispatched_key(*passage.frame));
        default:
            return model.id_of(passage.slot->name);
    }
}

/// Looks the tensor of an argument up; false if there is none, or none that is known.
class TensorFinder {
  public:
    TensorFinder(const MeasuredModel& model, const MeasuringThread& thread)
        : model_(model), thread_(thread) {}

    bool find(const CallArgument& argument, TensorInfo& info) const {
        if (argument.kind == CallArgument::Kind::tensor)
            return read_tensor(model_.api(), argument.handle, info);
        if (argument.address == nullptr) return false;
        if (model_.is_constant(argument.label)) return model_.constant_at(argument.address, info);
        // The newest first: a handle from before may be gone, and its memory another tensor's.
        for (std::size_t i = thread_.pointers.size(); i-- > 0;) {
            if (thread_.pointers[i].address == argument.address)
                return read_tensor(model_.api(), thread_.pointers[i].handle, info);
        }
        return false;
    }

  private:
    const MeasuredModel& model_;
    const MeasuringThread& thread_;
};

void print(ThreadState& state, const std::string& text) {
    LineLog* log = state.session->log();
    if (log != nullptr) log->write(text.data(), text.size());
}

void print_tensor(ThreadState& state, const std::string& title, const TensorInfo& info) {
    if (info.unmeasured != nullptr) return print(state, tensor_text(title, info, nullptr));
    const TensorStatistics statistics = measure(info.view(), Wanted::printed);
    print(state, tensor_text(title, info, &statistics));
}

std::vector<CallArgument> arguments_of(const OpenCall& call, const CallSite* site, When when) {
    const Slot& slot = *call.passage.slot;
    if (slot.kind == ring::CallKind::cpp_kernel)
        return kernel_arguments(*call.passage.frame, site, slot.integers);
    return shim_arguments(*slot.shim, *call.passage.frame, site, when == When::after);
}

}  // namespace

void note_pointer(ThreadState* state, MeasuredModel& model, TensorHandle handle) {
    if (handle == nullptr) return;
    if (state == nullptr || innermost_run(*state) == nullptr) return model.note_constant(handle);
    MeasuringThread& own = own_part(*state);
    if (std::exchange(own.pointers_are_old, false)) own.pointers.clear();
    void* address = nullptr;
    if (own.pointers.size() < kMostPointers && model.api().data_ptr(handle, &address) == 0 &&
        address != nullptr)
        own.pointers.push_back({address, handle});
}

std::uint32_t match_site(ThreadState& state, const MeasuredModel& model, std::uint16_t number,
                         std::uint32_t run, const Passage& passage) {
    MeasuringThread& own = own_part(state);
    own.pointers_are_old = true;
    const std::uint32_t id = id_of(model, passage);
    if (id == kNone) return kNone;
    Follower& follower = own.followers.try_emplace(number, model.plan()).first->second;
    if (std::exchange(follower.run, run) != run) follower.matcher.begin_run();
    const CallMatcher::Match match = follower.matcher.match(id);
    if (follower.matcher.take_lost()) {
        message(Severity::info,
                "calls of a model come in another order than its wrapper source has them; names of tensors "
                "may be wrong around '%s'",
                passage.slot->name->printed.c_str());
    }
    return match.site;
}

bool has_arguments(const Passage& passage) {
    if (passage.slot == nullptr || passage.slot->role == SlotRole::dispatcher) return false;
    return passage.slot->kind == ring::CallKind::cpp_kernel || passage.slot->shim != nullptr;
}

void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  std::int32_t result) {
    const DefaultFloatState float_state;
    const CallSite* site = model.site(call.site);
    const TensorFinder finder(model, own_part(state));
    const std::string prefix = std::string(when == When::before ? "before_launch - " : "after_launch - ") +
                               call.name->printed + " - ";
    const bool by_proxy = call.kind == ring::CallKind::proxy_op;
    for (const CallArgument& argument : arguments_of(call, site, when)) {
        const std::string title = prefix + argument.label;
        if (argument.kind == CallArgument::Kind::scalar) {
            print(state, scalar_line(title, argument.text));
            continue;
        }
        const bool is_made = argument.only_after || (by_proxy && model.is_made_by(call.site, argument.label));
        // Where the call failed nothing may have been made.
        if (is_made && (when == When::before || result != 0)) continue;
        TensorInfo info;
        if (finder.find(argument, info)) print_tensor(state, title, info);
    }
}

void measure_inputs(ThreadState& state, const MeasuredModel& model, const Passage& passage) {
    const DefaultFloatState float_state;
    const auto* inputs = reinterpret_cast<const TensorHandle*>(passage.frame->integer(1));
    const std::uint64_t count = passage.frame->integer(2);
    for (std::uint64_t i = 0; inputs != nullptr && i < count; ++i) {
        const std::vector<std::string>& names = model.info().inputs;
        const std::string label = i < names.size() ? names[i] : "arg" + std::to_string(i);
        TensorInfo info;
        if (inputs[i] != nullptr && read_tensor(model.api(), inputs[i], info))
            print_tensor(state, "aoti_model_inputs - " + label, info);
    }
}

}  // namespace aoti_dbg
