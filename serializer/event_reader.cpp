#include "serializer/event_reader.hpp"

#include <deque>
#include <optional>

#include "serializer/event_fields.hpp"
#include "serializer/event_words.hpp"
#include "serializer/json_line.hpp"
#include "serializer/number_map.hpp"
#include "serializer/read_ahead.hpp"

namespace aoti_dbg {
namespace {

using Value = JsonLine::Value;
using Kind = JsonLine::Kind;

// Our writer never needs more definitions or definition bytes. Beyond these limits, the reader forgets all of
// them.
constexpr std::size_t kMostDefinitions = 1U << 17U;
constexpr std::size_t kMostDefinitionBytes = std::size_t{64} << 20U;

/// Data that an argument of the current event points to.
struct Owned {
    ArgumentFacts facts;  // used if its definition is missing
    TensorFacts tensor;
    std::string why;
    std::vector<std::byte> values;
};

/// Definitions by their ids in the file. Facts get numbers of this process, so a file cannot give one number
/// to two of them.
class Definitions {
  public:
    bool take(std::string_view type, Value root, std::size_t bytes) {
        if (type == "forget") {
            forget();
            return true;
        }
        if (type != "site" && type != "argument" && type != "tensor") return false;
        std::uint64_t id = 0;
        if (!read_integer(root.member("id"), id)) return true;
        bytes_ += bytes;
        if (sites_.size() + arguments_.size() + tensors_.size() >= kMostDefinitions ||
            bytes_ > kMostDefinitionBytes) {
            forget();
        }
        if (type == "site") read_site(root, sites_.add(id) = {});
        if (type == "argument") read_argument(root, arguments_.add(id) = {});
        if (type == "tensor") read_tensor(root, tensors_.add(id) = {});
        return true;
    }

    const SiteFacts* site(Value id) const { return found(sites_, id); }
    const ArgumentFacts* argument(Value id) const { return found(arguments_, id); }
    const TensorFacts* tensor(Value id) const { return found(tensors_, id); }

  private:
    template <typename Facts>
    static const Facts* found(const NumberMap<Facts>& map, Value id) {
        std::uint64_t number = 0;
        if (!read_integer(id, number)) return nullptr;
        return map.find(number);
    }
    void forget() {
        sites_.clear();
        arguments_.clear();
        tensors_.clear();
        bytes_ = 0;
    }

    NumberMap<SiteFacts> sites_;
    NumberMap<ArgumentFacts> arguments_;
    NumberMap<TensorFacts> tensors_;
    std::size_t bytes_ = 0;
};

}  // namespace

struct EventReader::State {
    State(ByteSource from, ArgumentDetail read, ReadingThread thread) : detail(read) {
        if (thread == ReadingThread::own) {
            ahead.emplace(std::move(from));
        } else {
            lines.emplace(std::move(from));
        }
    }

    bool understand(ReadEvent& event);
    bool read_header(Value root, HeaderFacts& header);
    bool read_call(Value root, MeasuredCall& call);
    void read_call_member(Value value, MeasuredCall& call) const;
    void read_measurement(Value object, MeasuredArgument& argument, Owned& own) const;
    void read_call_argument(Value object, MeasuredArgument& argument, Owned& own) const;

    /// Reads a line into `event.line`, `document` and `number`. Returns false at the end.
    bool take_line(ReadEvent& event);

    // One of them.
    std::optional<LineSource> lines;
    std::optional<ReadAhead> ahead;
    ArgumentDetail detail;
    JsonLine json;
    Value document;  // of the current line; none if it is not JSON
    std::uint64_t number = 0;
    Definitions definitions;
    SiteFacts site;  // used if its definition is missing
    std::vector<MeasuredArgument> arguments;
    std::vector<Value> objects;
    std::deque<Owned> owned;  // one for each argument; kept to reuse its memory
    std::uint64_t doubtful = 0;
    ReadNotes notes;
};

void EventReader::State::read_measurement(Value object, MeasuredArgument& argument, Owned& own) const {
    read_address(object.member("address"), argument.address);
    argument.measured = Measured::now;
    if (const Value measured = object.member("measured")) {
        argument.measured = measured.text() == "not yet" ? Measured::not_yet : Measured::no;
        own.why = string_of(object.member("why"));
        argument.why_not = own.why.c_str();
        return;
    }
    if (const Value at = object.member("measured_at")) {
        argument.measured = Measured::earlier;
        read_integer(at, argument.measured_at);
    }
    read_statistics(object, *argument.tensor, argument.statistics);
    if (const Value values = object.member("values")) {
        read_values(values, argument.tensor->measured_dtype, own.values);
        argument.values = own.values;
    }
}

void EventReader::State::read_call_argument(Value object, MeasuredArgument& argument, Owned& own) const {
    argument.facts = definitions.argument(object.member("argument"));
    if (argument.facts == nullptr) {
        own.facts = {};
        read_argument(object, own.facts);
        argument.facts = &own.facts;
    }
    const Value tensor = object.member("tensor");
    if (const Value scalar = tensor ? Value() : object.member("value")) {
        argument.scalar = scalar.text();
        return;
    }
    argument.tensor = definitions.tensor(tensor);
    if (argument.tensor == nullptr) {
        own.tensor = {};
        read_tensor(object, own.tensor);
        argument.tensor = &own.tensor;
    }
    if (detail == ArgumentDetail::everything) read_measurement(object, argument, own);
}

/// Reads a member of a call's line, except its arguments.
void EventReader::State::read_call_member(Value value, MeasuredCall& call) const {
    const auto read = [&](std::string_view name, auto& to) {
        if (value.key() == name) read_integer(value, to);
    };
    switch (value.tag()) {
        case JsonLine::tag_of("site"):
            if (value.key() == "site") call.site = definitions.site(value);
            return;
        case JsonLine::tag_of("run"):
            return read("run", call.run);
        case JsonLine::tag_of("call"):
            return read("call", call.call);
        case JsonLine::tag_of("model"):
            return read("model", call.model);
        case JsonLine::tag_of("seq"):
            return read("seq", call.sequence);
        case JsonLine::tag_of("time_ns"):
            return read("time_ns", call.time_ns);
        case JsonLine::tag_of("thread"):
            return read("thread", call.thread);
        case JsonLine::tag_of("stream"):
            if (value.key() == "stream") read_address(value, call.stream);
            return;
        case JsonLine::tag_of("nesting"):
            return read("nesting", call.nesting);
        case JsonLine::tag_of("result"):
            return read("result", call.result);
        case JsonLine::tag_of("serialized"):
            if (value.key() == "serialized") call.is_serialized = value.text() == "true";
            return;
        default:
            return;
    }
}

bool EventReader::State::read_call(Value root, MeasuredCall& call) {
    call = {};
    const std::optional<EventSide> side = side_of(root.member("side").text());
    if (!side) return false;
    call.side = *side;
    for (Value value = root.first(); value; value = value.next())
        read_call_member(value, call);
    if (call.site == nullptr && root.member("kernel")) {
        site = {};
        site.kernel = string_of(root.member("kernel"));
        call.site = &site;
    }
    const Value list = root.member("arguments");
    call.name_only = !list;
    arguments.clear();
    objects.clear();
    for (Value object = list.first(); object; object = object.next()) {
        if (!object.is(Kind::object)) return false;
        if (arguments.size() == owned.size()) owned.emplace_back();
        objects.push_back(object);
        MeasuredArgument& argument = arguments.emplace_back();
        read_call_argument(object, argument, owned[arguments.size() - 1]);
    }
    call.arguments = arguments;
    return true;
}

bool EventReader::State::read_header(Value root, HeaderFacts& header) {
    header = {};
    if (root.member("format").text() != kEventFormatName) return false;
    if (!read_integer(root.member("version"), header.version)) return false;
    if (header.version > kEventFormatVersion) notes.is_newer = true;
    read_integer(root.member("pid"), header.pid);
    header.command = string_of(root.member("command"));
    header.host = string_of(root.member("host"));
    header.rank = string_of(root.member("rank"));
    read_integer(root.member("start_ns"), header.start_ns);
    header.library = string_of(root.member("library"));
    return true;
}

bool EventReader::State::take_line(ReadEvent& event) {
    document = {};
    if (ahead) {
        const ParsedLine* const line = ahead->next();
        if (line == nullptr) return false;
        event.line = line->json.line();
        number = line->number;
        if (line->is_json) document = line->json.root();
        return true;
    }
    if (!lines->next(event.line)) return false;
    number = lines->number();
    if (!lines->is_too_long() && json.parse(event.line)) document = json.root();
    return true;
}

/// Fills `event` from its line. Returns false if the line is damaged.
bool EventReader::State::understand(ReadEvent& event) {
    const Value root = document;
    const Value type = root.member("event");
    if (!type.is(Kind::string)) return false;
    event.type = type.text();
    event.kind = ReadEvent::Kind::other;
    if (event.type == "call") {
        event.kind = ReadEvent::Kind::call;
        if (!read_call(root, event.call)) return false;
        event.objects = objects;
        return true;
    }
    if (definitions.take(event.type, root, event.line.size())) {
        event.kind = ReadEvent::Kind::definition;
    } else if (event.type == "header") {
        event.kind = ReadEvent::Kind::header;
        return read_header(root, event.header);
    } else if (event.type == "model") {
        event.kind = ReadEvent::Kind::model;
        event.model = {};
        read_integer(root.member("model"), event.model.number);
        event.model.name = string_of(root.member("name"));
        event.model.path = string_of(root.member("path"));
    } else if (event.type == "coverage") {
        event.kind = ReadEvent::Kind::coverage;
        event.coverage.clear();
        for (Value count = root.member("counts").first(); count; count = count.next())
            read_integer(count, event.coverage.emplace_back(count.key(), 0).second);
    }
    return true;
}

EventReader::EventReader(ByteSource source, ArgumentDetail detail, ReadingThread thread)
    : state_(std::make_unique<State>(std::move(source), detail, thread)) {}
EventReader::~EventReader() = default;
EventReader::EventReader(EventReader&&) noexcept = default;

bool EventReader::next(ReadEvent& event) {
    ReadNotes& notes = state_->notes;
    while (state_->take_line(event)) {
        ++notes.lines;
        if (state_->doubtful != 0) {
            // Another line follows, so the bad one is damaged and not merely truncated.
            if (notes.damaged++ == 0) notes.first_damaged = state_->doubtful;
            state_->doubtful = 0;
        }
        if (state_->understand(event)) return true;
        state_->doubtful = state_->number;
    }
    notes.is_cut = state_->doubtful != 0;
    return false;
}

const ReadNotes& EventReader::notes() const {
    return state_->notes;
}

}  // namespace aoti_dbg
