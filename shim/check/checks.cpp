#include "shim/check/checks.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fnv.hpp"
#include "base/words.hpp"
#include "config/selection.hpp"
#include "serializer/finding.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/call_finding.hpp"
#include "shim/check/checked_pointers.hpp"
#include "shim/check/mismatch.hpp"
#include "shim/check/model_checks.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

std::atomic<std::uint64_t> g_unchecked_models{0};

/// Decides whether the views that a run creates need a check. They do not if the inputs are those of a run
/// whose views were sound. One number identifies the inputs; 0 means unknown.
struct CheckedViews {
    std::uint64_t sound = 0;    // number of a run whose views were sound
    std::uint64_t at_hand = 0;  // number of the current run
    [[nodiscard]] bool are_sound() const { return at_hand != 0 && at_hand == sound; }
};

/// The part of a thread that checks arguments.
struct CheckingThread {
    // The number of the facts that the last comparison found right, by model and position.
    std::map<std::pair<std::uint16_t, std::uint64_t>, std::uint64_t> sound_inputs;
    CheckedPointers pointers;
    std::map<std::uint16_t, CheckedViews> views;  // by model
    CheckedViews* views_at_hand = nullptr;        // of the current run
    std::uint32_t found_in_run = ring::kNoRun;    // the last run with a wrong argument or result
};

CheckingThread& own_part(ThreadState& state) {
    return state.parts.get<CheckingThread>();
}

ModelChecks& checks_of(const MeasuredModel& model) {
    return *model.parts().find<ModelChecks>();
}

/// Counts the models whose inputs cannot be checked.
class ChecksPart final : public SessionPart {
  public:
    void append_coverage(CoverageLine& line) const override {
        const std::uint64_t unchecked = g_unchecked_models.load(std::memory_order_relaxed);
        if (unchecked != 0)
            line.count("; ", unchecked, "model with inputs that cannot be checked",
                       "models with inputs that cannot be checked");
        line.name("models_without_checks", unchecked);
    }
};

/// Also remembers the run, so that its failure is not a second finding.
Finding finding_at(ThreadState& state, const OpenCall& call) {
    own_part(state).found_in_run = call.run;
    return finding_of(state, call);
}

/// Returns the number of the input's facts, or 0 if unknown.
std::uint64_t check_input(ThreadState& state, const MeasuredModel& model, const OpenCall& run, std::size_t n,
                          TensorHandle handle) {
    const ModelChecks::Input input = checks_of(model).input(n);
    if (input.guard == nullptr || handle == nullptr) return 0;
    SeenTensor seen;
    if (!tensors_of(state).reader.read(model.api(), handle, seen)) return 0;
    std::uint64_t& sound = own_part(state).sound_inputs[{run.model, n}];
    if (sound == seen.facts->number) return sound;
    std::vector<Mismatch> wrong = compare_input(*input.guard, input.relies_on_strides, *seen.facts);
    if (wrong.empty()) sound = seen.facts->number;
    for (Mismatch& mismatch : wrong) {
        Finding finding = finding_at(state, run);
        finding.line = input.guard->line;
        add_tensor(model.input(n), seen.facts, finding);
        report_mismatch(std::move(finding), std::move(mismatch));
    }
    return seen.facts->number;
}

void check_count(ThreadState& state, const MeasuredModel& model, const OpenCall& run, std::uint64_t given) {
    const std::size_t expected = checks_of(model).inputs();
    if (expected == 0 || expected == given) return;
    report_mismatch(finding_at(state, run),
                    {"number of inputs", counted(expected, "input"), std::to_string(given),
                     "pass the inputs that the model was exported with, flattened as in its call spec"});
}

/// True if the result of the container function says whether constants were set.
bool gives_constants(std::string_view function) {
    return function.find("Update") != std::string_view::npos;
}

void note_container_call(MeasuredModel& model, const OpenCall& call, std::int32_t result) {
    if (call.passage.frame == nullptr) return;
    const auto* container = reinterpret_cast<const void*>(call.passage.frame->integer(0));
    if (gives_constants(call.name->printed))
        checks_of(model).note_update(container, call.name->printed, result);
    if (call.name->printed == "AOTInductorModelContainerDelete") checks_of(model).forget(container);
}

/// A run that returned with success proves its views sound. A run that an exception unwound may have skipped
/// views.
void end_views(ThreadState& state, std::int32_t result) {
    CheckingThread* const own = state.parts.find<CheckingThread>();
    if (own == nullptr) return;
    CheckedViews* const views = std::exchange(own->views_at_hand, nullptr);
    if (views != nullptr && result == 0) views->sound = views->at_hand;
}

bool is_op(ring::CallKind kind) {
    return kind == ring::CallKind::extern_op || kind == ring::CallKind::proxy_op ||
           kind == ring::CallKind::dispatcher;
}

void report_result(ThreadState& state, const MeasuredModel* model, const OpenCall& call, std::string found,
                   const char* advice) {
    Finding finding = finding_at(state, call);
    add_site(site_facts(model, call), finding);
    report_mismatch(std::move(finding), {"result", "success", std::move(found), advice});
}

/// A run that fails because of a reported finding is not reported again.
void check_failed_run(ThreadState& state, const OpenCall& run, std::int32_t result) {
    if (own_part(state).found_in_run == run.run) return;
    Finding finding = finding_at(state, run);
    finding.kernel = run.name->printed;
    finding.call = Finding().call;
    report_mismatch(std::move(finding),
                    {"result", "success", "error " + std::to_string(result),
                     "read the line that PyTorch wrote to standard error. aoti-dbg show prints the "
                     "calls before it"});
}

/// True if the frame is on the thread's own stack. A call on the stack of a fiber may still be active.
bool is_on_own_stack(ThreadState& state, std::uintptr_t frame) {
    return readable_stack_words(state, frame) != 0;
}

}  // namespace

void check_run(ThreadState& state, MeasuredModel* model, const OpenCall& run) {
    if (run.passage.frame == nullptr) return;
    const auto* handles = reinterpret_cast<const TensorHandle*>(run.passage.frame->integer(1));
    const std::uint64_t given = handles == nullptr ? 0 : run.passage.frame->integer(2);
    if (model == nullptr) return;
    ModelChecks& checks = checks_of(*model);
    if (given != 0 && !checks.is_checkable() && checks.first_to_miss_checks()) note_unchecked_model();
    const auto* container = reinterpret_cast<const void*>(run.passage.frame->integer(0));
    if (std::optional<Mismatch> wrong = checks.wrong_constants(container))
        report_mismatch(finding_at(state, run), std::move(*wrong));
    check_count(state, *model, run, given);
    begin_finding(tensors_of(state));
    CheckingThread& own = own_part(state);
    std::uint64_t all =
        fnv1a(checks.changes(), fnv1a(reinterpret_cast<std::uintptr_t>(container), kFnvBegin));
    bool is_known = true;
    for (std::uint64_t n = 0; n < given; ++n) {
        const std::uint64_t number = check_input(state, *model, run, n, handles[n]);
        is_known &= number != 0;
        all = fnv1a(number, all);
    }
    own.views_at_hand = &own.views[run.model];
    own.views_at_hand->at_hand = is_known ? all : 0;
    if (own.views_at_hand->are_sound()) pass_by(SlotRole::view);
}

namespace {

/// Reports what is wrong with a pointer of a launch. Returns false if nothing is.
[[gnu::noinline]] bool is_wrong(ThreadState& state, const MeasuredModel& model, const OpenCall& call,
                                const ModelChecks::LaunchPointer& pointer, std::optional<Mismatch> wrong) {
    if (!wrong) return false;
    Finding finding = finding_at(state, call);
    add_site(model.site(call.site)->facts, finding);
    add_tensor(*pointer.argument, nullptr, finding);
    report_mismatch(std::move(finding), std::move(*wrong));
    return true;
}

}  // namespace

[[gnu::hot]] void check_launch(ThreadState& state, const MeasuredModel& model, const OpenCall& call) {
    const std::span<const ModelChecks::LaunchPointer> pointers = checks_of(model).pointers_at(call.site);
    if (pointers.begin() == pointers.end()) return;
    CheckedPointers& checked = own_part(state).pointers;
    std::uint64_t* const right = checked.right_ones(call.model, checks_of(model));
    int device = kNoDevice;
    for (const ModelChecks::LaunchPointer& pointer : pointers) {
        const auto address = *static_cast<const std::uint64_t*>(call.passage.parameters[pointer.parameter]);
        // A tensor without elements may have no memory.
        if (address == right[pointer.place] || address == 0) continue;
        if (device == kNoDevice) device = current_device();
        if (device == kNoDevice) return;
        if (checked.is_right(address, pointer.alignment, device) ||
            !is_wrong(state, model, call, pointer, checked.ask(address, pointer.alignment, device)))
            right[pointer.place] = address;
    }
}

void check_view(ThreadState& state, const MeasuredModel& model, const StubFrame& frame) {
    const CheckingThread* const own = state.parts.find<CheckingThread>();
    CheckedViews* const views = own == nullptr ? nullptr : own->views_at_hand;
    const ShimApi& api = model.api();
    const auto* tensor = reinterpret_cast<TensorHandle>(frame.integer(0));
    const auto rank = static_cast<std::int64_t>(frame.integer(1));
    const auto* sizes = reinterpret_cast<const std::int64_t*>(frame.integer(2));
    const auto* strides = reinterpret_cast<const std::int64_t*>(frame.integer(3));
    const OpenCall* run = innermost_run(state);
    if (tensor == nullptr || rank < 0 || (rank != 0 && (sizes == nullptr || strides == nullptr)) ||
        run == nullptr)
        return;
    if (api.storage_offset == nullptr || api.storage_size == nullptr) return;
    if (!api.is_strided(tensor).value_or(false)) return;
    std::int32_t dtype = 0;
    std::int64_t offset = 0;
    ViewFacts view;
    if (api.dtype(tensor, &dtype) != 0 || api.storage_offset(tensor, &offset) != 0 ||
        api.storage_size(tensor, &view.storage_bytes) != 0)
        return;
    const std::optional<DType> known = api.dtype_of(dtype);
    if (!known) return;
    view.element_bytes = element_size(*known);
    view.sizes = {sizes, static_cast<std::size_t>(rank)};
    view.strides = {strides, static_cast<std::size_t>(rank)};
    view.offset = offset + static_cast<std::int64_t>(frame.integer(4));
    std::optional<Mismatch> wrong = compare_view(view);
    if (!wrong) return;
    if (views != nullptr) views->at_hand = 0;
    Finding finding = finding_at(state, *run);
    finding.kernel = "aoti_torch__reinterpret_tensor";
    finding.call = run->next_call;  // this call or a later one uses the view
    finding.notes.push_back("the call number is that of the next call after this view");
    report_mismatch(std::move(finding), std::move(*wrong));
}

void check_result(ThreadState& state, MeasuredModel* model, const OpenCall& call, std::int32_t result) {
    if (call.kind == ring::CallKind::lifecycle && model != nullptr)
        return note_container_call(*model, call, result);
    if (call.kind == ring::CallKind::run) end_views(state, result);
    if (result == 0) return;
    if (call.kind == ring::CallKind::run) return check_failed_run(state, call, result);
    if (is_op(call.kind))
        report_result(state, model, call, "error " + std::to_string(result),
                      "read the line that PyTorch wrote to standard error. --level 2 shows the arguments");
}

void check_unwound(ThreadState& state, std::uintptr_t frame) {
    const OpenCall& left = *state.top();
    // A call that the program makes outside of a model is not checked.
    const bool is_own = state.depth > 1 && left.number != ring::kNoCall &&
                        state.open[state.depth - 2].kind == ring::CallKind::run;
    if (!is_own || !is_on_own_stack(state, frame) || !is_on_own_stack(state, left.frame)) return;
    const MeasuredModel* const model = left.passage.any() ? measured_model(left.model) : nullptr;
    report_result(state, model, left, "an exception",
                  "read the exception. --level 2 shows the arguments of the call");
}

void note_unchecked_model() {
    g_unchecked_models.fetch_add(1, std::memory_order_relaxed);
}

void start_checks(Session& session) {
    if (may_find(options())) session.add(std::make_unique<ChecksPart>());
}

}  // namespace aoti_dbg
