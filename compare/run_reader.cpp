#include "compare/run_reader.hpp"

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/role.hpp"
#include "compare/memory.hpp"
#include "serializer/event_words.hpp"

namespace aoti_dbg::compare {
namespace {

void append_part(const std::string& part, std::string& to) {
    to.append(part).push_back('\0');
}

std::string contents_of(const SiteFacts& facts) {
    std::string text;
    for (const std::string* part : {&facts.kernel, &facts.symbol, &facts.kind, &facts.source})
        append_part(*part, text);
    append_part(std::to_string(facts.site), text);
    append_part(std::to_string(facts.line), text);
    for (const std::string& node : facts.source_nodes)
        append_part(node, text);
    append_part({}, text);
    for (const std::string& op : facts.original_aten)
        append_part(op, text);
    return text;
}

std::string contents_of(const ArgumentFacts& facts) {
    std::string text;
    for (const std::string* part : {&facts.label, &facts.original_fqn, &facts.parameter})
        append_part(*part, text);
    append_part(std::to_string(facts.position), text);
    text += word_of(facts.role);
    return text;
}

std::string contents_of(const TensorFacts& facts) {
    std::string text;
    for (const std::string* part : {&facts.dtype, &facts.device, &facts.unmeasured})
        append_part(*part, text);
    for (const std::vector<std::int64_t>* numbers : {&facts.sizes, &facts.strides}) {
        for (const std::int64_t number : *numbers)
            append_part(std::to_string(number), text);
        append_part({}, text);
    }
    text +=
        std::to_string(facts.storage_offset) + (facts.sizes_known ? "s" : "") + (facts.is_strided ? "l" : "");
    text += std::string(facts.bits.conjugate ? "c" : "") + (facts.bits.negative ? "n" : "");
    return text;
}

/// Keeps one copy of equal facts.
template <typename Facts>
class Kept {
  public:
    const Facts* copy_of(const Facts& facts) {
        if (known_.size() >= kMostKnown) known_.clear();
        const Facts*& known = known_[facts.number];
        if (known != nullptr) return known;
        const auto [entry, is_new] = by_contents_.try_emplace(contents_of(facts), nullptr);
        if (is_new) entry->second = &copies_.emplace_back(facts);
        known = entry->second;
        return known;
    }

  private:
    static constexpr std::size_t kMostKnown = 1U << 17U;
    std::unordered_map<std::uint64_t, const Facts*> known_;  // by number, which is the reader's
    std::unordered_map<std::string, const Facts*> by_contents_;
    std::deque<Facts> copies_;
};

/// A call can write a part of a tensor that it reads as a whole.
void mark_garbage(std::vector<RecordedTensor>& tensors) {
    for (const RecordedTensor& unwritten : tensors) {
        if (!unwritten.is_unwritten) continue;
        const Memory::Bytes bytes = Memory::bytes_of(unwritten);
        for (RecordedTensor& tensor : tensors) {
            const Memory::Bytes own = Memory::bytes_of(tensor);
            if (!tensor.is_unwritten && own.begin < bytes.end && bytes.begin < own.end)
                tensor.has_garbage = true;
        }
    }
}

/// A run that has not ended.
struct OpenRun {
    RecordedRun run;
    std::unordered_map<std::uint32_t, std::size_t> open_calls;  // places in `run.calls`, by number
};

}  // namespace

struct RunReader::State {
    explicit State(ByteSource source) : events(std::move(source)) {}

    RecordedTensor tensor_of(const MeasuredCall& call, const MeasuredArgument& argument);
    void take_arguments(const MeasuredCall& call, std::vector<RecordedTensor>& to);
    void take_call(const MeasuredCall& call);
    OpenRun& run_of(const MeasuredCall& call);
    RecordedCall& call_of(const MeasuredCall& from, OpenRun& to);
    void finish(std::uint32_t run);

    EventReader events;
    ReadEvent event;
    HeaderFacts header;
    Kept<SiteFacts> sites;
    Kept<ArgumentFacts> arguments;
    Kept<TensorFacts> tensors;
    std::map<std::uint32_t, std::string> model_names;
    std::map<std::uint32_t, OpenRun> open;
    std::unordered_map<std::uint64_t, std::uint32_t> run_of_thread;
    std::deque<RecordedRun> finished;
    bool is_over = false;
    bool has_runs = false;
};

RecordedTensor RunReader::State::tensor_of(const MeasuredCall& call, const MeasuredArgument& argument) {
    RecordedTensor tensor;
    tensor.facts = arguments.copy_of(facts_or_unknown(argument));
    tensor.run = call.run;
    tensor.call = call.call;
    tensor.side = call.side;
    tensor.position = tensor.facts->position;
    if (argument.tensor == nullptr) {
        tensor.scalar = argument.scalar;
        return tensor;
    }
    tensor.tensor = tensors.copy_of(*argument.tensor);
    tensor.address = argument.address;
    tensor.is_measured = argument.measured == Measured::now || argument.measured == Measured::earlier;
    tensor.is_unwritten = is_unwritten(call, argument);
    tensor.statistics = argument.statistics;
    tensor.values.assign(argument.values.begin(), argument.values.end());
    return tensor;
}

void RunReader::State::take_arguments(const MeasuredCall& call, std::vector<RecordedTensor>& to) {
    to.clear();
    to.reserve(call.arguments.size());
    for (const MeasuredArgument& argument : call.arguments)
        to.push_back(tensor_of(call, argument));
    if (call.side == EventSide::before) mark_garbage(to);
}

OpenRun& RunReader::State::run_of(const MeasuredCall& call) {
    const auto [entry, is_new] = open.try_emplace(call.run);
    if (!is_new) return entry->second;
    RecordedRun& run = entry->second.run;
    run.run = call.run;
    run.model = call.model;
    run.model_name = model_names[call.model];
    return entry->second;
}

RecordedCall& RunReader::State::call_of(const MeasuredCall& from, OpenRun& to) {
    const auto known = to.open_calls.find(from.call);
    if (known != to.open_calls.end()) {
        const std::size_t place = known->second;
        if (from.side == EventSide::after) to.open_calls.erase(known);
        return to.run.calls[place];
    }
    if (from.side == EventSide::before) to.open_calls[from.call] = to.run.calls.size();
    RecordedCall& call = to.run.calls.emplace_back();
    call.site = sites.copy_of(site_or_unknown(from));
    call.call = from.call;
    call.nesting = from.nesting;
    return call;
}

void RunReader::State::finish(std::uint32_t run) {
    const auto entry = open.find(run);
    if (entry == open.end()) return;
    finished.push_back(std::move(entry->second.run));
    open.erase(entry);
}

void RunReader::State::take_call(const MeasuredCall& event_call) {
    if (event_call.run == ~0U) return;  // outside of any run
    // A thread that begins a run has ended its last one, which had no outputs if it failed.
    const auto [last, is_first] = run_of_thread.try_emplace(event_call.thread, event_call.run);
    if (event_call.side == EventSide::inputs && !is_first && last->second != event_call.run &&
        event_call.nesting == 0)
        finish(last->second);
    last->second = event_call.run;

    OpenRun& open_run = run_of(event_call);
    RecordedRun& run = open_run.run;
    const bool has_arguments = !event_call.name_only;
    if (event_call.side == EventSide::inputs) {
        run.has_inputs = has_arguments;
        return take_arguments(event_call, run.inputs);
    }
    if (event_call.side == EventSide::outputs) {
        run.has_outputs = has_arguments;
        take_arguments(event_call, run.outputs);
        return finish(event_call.run);
    }
    RecordedCall& call = call_of(event_call, open_run);
    const bool is_before = event_call.side == EventSide::before;
    (is_before ? call.has_before : call.has_after) = has_arguments;
    if (!is_before) call.result = event_call.result;
    take_arguments(event_call, is_before ? call.before : call.after);
}

RunReader::RunReader(ByteSource source) : state_(std::make_unique<State>(std::move(source))) {}
RunReader::~RunReader() = default;
RunReader::RunReader(RunReader&&) noexcept = default;

std::optional<RecordedRun> RunReader::next() {
    State& state = *state_;
    while (state.finished.empty() && !state.is_over) {
        if (!state.events.next(state.event)) {
            state.is_over = true;
            while (!state.open.empty())
                state.finish(state.open.begin()->first);
        } else if (state.event.kind == ReadEvent::Kind::header) {
            state.header = state.event.header;
        } else if (state.event.kind == ReadEvent::Kind::model) {
            state.model_names[state.event.model.number] = state.event.model.name;
        } else if (state.event.kind == ReadEvent::Kind::call) {
            state.take_call(state.event.call);
        }
    }
    if (state.finished.empty()) return std::nullopt;
    state.has_runs = true;
    RecordedRun run = std::move(state.finished.front());
    state.finished.pop_front();
    return run;
}

const HeaderFacts& RunReader::header() const {
    return state_->header;
}

bool RunReader::has_runs() const {
    return state_->has_runs;
}

const ReadNotes& RunReader::notes() const {
    return state_->events.notes();
}

}  // namespace aoti_dbg::compare
