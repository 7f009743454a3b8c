#include "cli/trace/trace_packets.hpp"

#include "base/clean_text.hpp"
#include "cli/trace/proto_writer.hpp"

namespace aoti_dbg::cli {
namespace {

// Fields of the messages, by their names in perfetto_trace.proto.
namespace trace {
constexpr std::uint32_t packet = 1;
}
namespace trace_packet {
constexpr std::uint32_t clock_snapshot = 6;
constexpr std::uint32_t timestamp = 8;
constexpr std::uint32_t trusted_packet_sequence_id = 10;
constexpr std::uint32_t track_event = 11;
constexpr std::uint32_t interned_data = 12;
constexpr std::uint32_t sequence_flags = 13;
constexpr std::uint32_t track_descriptor = 60;
}  // namespace trace_packet
namespace clock_snapshot {
constexpr std::uint32_t clocks = 1;
constexpr std::uint32_t primary_trace_clock = 2;
constexpr std::uint32_t clock_id = 1;
constexpr std::uint32_t timestamp = 2;
}  // namespace clock_snapshot
namespace track_descriptor {
constexpr std::uint32_t uuid = 1;
constexpr std::uint32_t name = 2;
constexpr std::uint32_t process = 3;
constexpr std::uint32_t thread = 4;
constexpr std::uint32_t parent_uuid = 5;
constexpr std::uint32_t counter = 8;
}  // namespace track_descriptor
namespace process_descriptor {
constexpr std::uint32_t pid = 1;
constexpr std::uint32_t cmdline = 2;
constexpr std::uint32_t process_name = 6;
}  // namespace process_descriptor
namespace thread_descriptor {
constexpr std::uint32_t pid = 1;
constexpr std::uint32_t tid = 2;
constexpr std::uint32_t thread_name = 5;
}  // namespace thread_descriptor
namespace counter_descriptor {
constexpr std::uint32_t unit = 3;
}
namespace track_event {
constexpr std::uint32_t category_iids = 3;
constexpr std::uint32_t debug_annotations = 4;
constexpr std::uint32_t type = 9;
constexpr std::uint32_t name_iid = 10;
constexpr std::uint32_t track_uuid = 11;
constexpr std::uint32_t counter_value = 30;
constexpr std::uint32_t flow_ids = 47;
}  // namespace track_event
namespace debug_annotation {
constexpr std::uint32_t name_iid = 1;
constexpr std::uint32_t uint_value = 3;
constexpr std::uint32_t string_value = 6;
constexpr std::uint32_t dict_entries = 11;
constexpr std::uint32_t string_value_iid = 17;
}  // namespace debug_annotation
namespace interned {
constexpr std::uint32_t iid = 1;
constexpr std::uint32_t text = 2;
}  // namespace interned

// BUILTIN_CLOCK_REALTIME, and the trace's default clock.
constexpr std::uint64_t kRealTime = 1;
constexpr std::uint64_t kBootTime = 6;

constexpr std::uint64_t kIncrementalStateCleared = 1;
constexpr std::uint64_t kNeedsIncrementalState = 2;

// One sequence of packets has all events, so they share the interned texts.
constexpr std::uint64_t kSequence = 1;

// Beyond this, the texts start over. Real programs stay far below it.
constexpr std::size_t kMostTextBytes = std::size_t{32} << 20U;

}  // namespace

TextId InternedTexts::id_of(std::string_view text, std::string& definitions) {
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    const TextId id = ids_.size() + 1;
    ids_.emplace(text, id);
    bytes_ += text.size() + 64;
    const std::size_t definition = proto::begin(field_, definitions);
    proto::append_number(interned::iid, id, definitions);
    const std::size_t value = proto::begin(interned::text, definitions);
    append_clean(text, definitions);
    proto::end(value, definitions);
    proto::end(definition, definitions);
    return id;
}

void InternedTexts::forget() {
    ids_.clear();
    bytes_ = 0;
}

/// Leaves the packet open, after its sequence.
std::size_t TracePackets::begin_packet(std::uint64_t time_ns) {
    const std::size_t packet = proto::begin(trace::packet, out_);
    if (time_ns != 0) proto::append_number(trace_packet::timestamp, time_ns, out_);
    proto::append_number(trace_packet::trusted_packet_sequence_id, kSequence, out_);
    return packet;
}

void TracePackets::start(std::uint64_t time_ns) {
    const std::size_t packet = begin_packet(0);
    const std::size_t snapshot = proto::begin(trace_packet::clock_snapshot, out_);
    // Both clocks show the same time, so the viewer can show times of day.
    for (const std::uint64_t clock : {kBootTime, kRealTime}) {
        const std::size_t entry = proto::begin(clock_snapshot::clocks, out_);
        proto::append_number(clock_snapshot::clock_id, clock, out_);
        proto::append_number(clock_snapshot::timestamp, time_ns, out_);
        proto::end(entry, out_);
    }
    proto::append_number(clock_snapshot::primary_trace_clock, kBootTime, out_);
    proto::end(snapshot, out_);
    proto::end(packet, out_);
}

/// Writes a packet that describes a track. `details` appends what kind of track it is.
template <typename Details>
void TracePackets::describe_track(std::uint64_t track, std::uint64_t parent, std::string_view name,
                                  Details details) {
    const std::size_t packet = begin_packet(0);
    const std::size_t descriptor = proto::begin(trace_packet::track_descriptor, out_);
    proto::append_number(track_descriptor::uuid, track, out_);
    if (parent != 0) proto::append_number(track_descriptor::parent_uuid, parent, out_);
    if (!name.empty()) proto::append_text(track_descriptor::name, clean_text(name), out_);
    details();
    proto::end(descriptor, out_);
    proto::end(packet, out_);
}

void TracePackets::add_process(std::uint64_t track, const Process& process) {
    describe_track(track, 0, {}, [&] {
        const std::size_t own = proto::begin(track_descriptor::process, out_);
        proto::append_number(process_descriptor::pid, process.pid, out_);
        proto::append_text(process_descriptor::process_name, clean_text(process.name), out_);
        if (!process.command.empty())
            proto::append_text(process_descriptor::cmdline, clean_text(process.command), out_);
        proto::end(own, out_);
    });
}

void TracePackets::add_thread(std::uint64_t track, std::uint64_t parent, std::uint32_t pid, std::uint32_t tid,
                              std::string_view name) {
    describe_track(track, parent, {}, [&] {
        const std::size_t own = proto::begin(track_descriptor::thread, out_);
        proto::append_number(thread_descriptor::pid, pid, out_);
        proto::append_number(thread_descriptor::tid, tid, out_);
        proto::append_text(thread_descriptor::thread_name, clean_text(name), out_);
        proto::end(own, out_);
    });
}

void TracePackets::add_track(std::uint64_t track, std::uint64_t parent, std::string_view name) {
    describe_track(track, parent, name, [] {});
}

void TracePackets::add_counter(std::uint64_t track, std::uint64_t parent, std::string_view name, Unit unit) {
    describe_track(track, parent, name, [&] {
        const std::size_t own = proto::begin(track_descriptor::counter, out_);
        proto::append_number(counter_descriptor::unit, static_cast<std::uint64_t>(unit), out_);
        proto::end(own, out_);
    });
}

void TracePackets::make_room() {
    if (categories_.bytes() + names_.bytes() + keys_.bytes() + values_.bytes() < kMostTextBytes) return;
    for (InternedTexts* texts : {&categories_, &names_, &keys_, &values_})
        texts->forget();
    ++generation_;
    is_cleared_ = true;
}

void TracePackets::begin_event(Type type, std::uint64_t track, std::uint64_t time_ns) {
    make_room();
    const std::size_t start = out_.size();
    proto::Fields fields;
    packet_ = start + fields.begin(trace::packet);
    if (time_ns != 0) fields.number(trace_packet::timestamp, time_ns);
    fields.number(trace_packet::trusted_packet_sequence_id, kSequence);
    fields.number(trace_packet::sequence_flags,
                  kNeedsIncrementalState | (is_cleared_ ? kIncrementalStateCleared : 0));
    is_cleared_ = false;
    event_ = start + fields.begin(trace_packet::track_event);
    fields.number(track_event::type, static_cast<std::uint64_t>(type));
    fields.number(track_event::track_uuid, track);
    fields.append_to(out_);
}

void TracePackets::name(TextId id) {
    proto::append_number(track_event::name_iid, id, out_);
}

void TracePackets::category(std::string_view text) {
    proto::append_number(track_event::category_iids, categories_.id_of(text, definitions_), out_);
}

void TracePackets::flow(std::uint64_t number) {
    proto::append_fixed64(track_event::flow_ids, number, out_);
}

void TracePackets::counter(std::uint64_t value) {
    proto::append_number(track_event::counter_value, value, out_);
}

/// Starts an annotation, in the open group if there is one.
std::size_t TracePackets::start_annotation(proto::Fields& fields, TextId key) const {
    const std::size_t place =
        fields.begin(group_ == 0 ? track_event::debug_annotations : debug_annotation::dict_entries);
    fields.number(debug_annotation::name_iid, key);
    return out_.size() + place;
}

void TracePackets::annotate(std::string_view key, std::string_view text) {
    append_clean(text, begin_text(key_id(key)));
    end_text();
}

void TracePackets::annotate(std::string_view key, std::uint64_t number) {
    annotate_number(key_id(key), debug_annotation::uint_value, number);
}

void TracePackets::annotate_shared(std::string_view key, std::string_view text) {
    const TextId name = key_id(key);  // before the text, so that every compiler defines them in this order
    annotate_number(name, debug_annotation::string_value_iid, values_.id_of(text, definitions_));
}

void TracePackets::annotate_number(TextId key, std::uint32_t field, std::uint64_t number) {
    proto::Fields fields;
    const std::size_t place = start_annotation(fields, key);
    fields.number(field, number);
    fields.append_to(out_);
    proto::end(place, out_);
}

void TracePackets::begin_group(std::string_view key) {
    const std::size_t group = proto::begin(track_event::debug_annotations, out_);
    proto::append_number(debug_annotation::name_iid, key_id(key), out_);
    group_ = group;
}

void TracePackets::end_group() {
    proto::end(group_, out_);
    group_ = 0;
}

std::string& TracePackets::begin_text(TextId key) {
    proto::Fields fields;
    annotation_ = start_annotation(fields, key);
    text_ = out_.size() + fields.begin(debug_annotation::string_value);
    fields.append_to(out_);
    return out_;
}

void TracePackets::end_text() {
    proto::end(text_, out_);
    proto::end(annotation_, out_);
}

void TracePackets::end_event() {
    proto::end(event_, out_);
    if (!definitions_.empty()) {
        proto::append_text(trace_packet::interned_data, definitions_, out_);
        definitions_.clear();
    }
    proto::end(packet_, out_);
}

}  // namespace aoti_dbg::cli
